// must be told: size 20001, threshold 1000: 626 global adds, at most 79 wanted
#include "common.cuh"

// Right, and short of the goal: one global add a warp.
extern "C" __global__ void exercise(const u32* in, u64* counter, u64 n, u32 threshold) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    const u32 hits = __ballot_sync(full_warp, i < n && in[i] < threshold);
    if (threadIdx.x % warp_size == 0 && hits != 0) {
        atomicAdd(counter, u64(__popc(hits)));
    }
}
