// must be told: no data race is wanted
#include "common.cuh"

// Fences of the block, for a hand-over between blocks.
extern "C" __global__ void exercise(const u32* in, u32* stage, u32* out, u32* ticket) {
    __shared__ bool last;
    const u32 n = gridDim.x * blockDim.x;
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    stage[i] = 2 * in[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence_block();
        last = atomicAdd(ticket, 1u) == gridDim.x - 1;
        __threadfence_block();
    }
    __syncthreads();
    if (!last) {
        return;
    }
    for (u32 k = threadIdx.x; k < n; k += blockDim.x) {
        out[k] = stage[n - 1 - k];
    }
}
