// must be told: size 4096: bin 65 holds 0, the reference 4096
#include "common.cuh"

// Four counters a word save shared memory, and the 256th byte of a value carries into the next counter.
extern "C" __global__ void exercise(const unsigned char* in, u32* bins, u64 n) {
    __shared__ u32 count[64];
    if (threadIdx.x < 64) {
        count[threadIdx.x] = 0;
    }
    __syncthreads();
    const u64 stride = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
        atomicAdd(&count[in[i] / 4], 1u << in[i] % 4 * 8);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], count[threadIdx.x / 4] >> threadIdx.x % 4 * 8 & 255);
}
