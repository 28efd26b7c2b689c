// must be told: global atomics, at most
#include "common.cuh"

// Right, with a release for every store.
extern "C" __global__ void exercise(const u32* in, u32* stage, u32* out, u32* ticket) {
    const u32 n = gridDim.x * blockDim.x;
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    stage[i] = 2 * in[i];
    __threadfence();
    const bool last = atomicAdd(ticket, 1u) == n - 1;
    __threadfence();
    if (last) {
        for (u32 k = 0; k < n; ++k) {
            out[k] = stage[n - 1 - k];
        }
    }
}
