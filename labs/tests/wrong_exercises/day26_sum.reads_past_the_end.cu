// must be told: access of 4 bytes
#include "common.cuh"

// No guard: the last block reads past the input.
extern "C" __global__ void exercise(const float* in, float* total, u64 n) {
    __shared__ float block_total;
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        block_total = 0.0f;
    }
    __syncthreads();
    atomicAdd(&block_total, in[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(total, block_total);
    }
}
