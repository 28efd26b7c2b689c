// must be told: was never written
#include "common.cuh"

// The tickets are right, and every lane of a warp uses the first of them.
extern "C" __global__ void exercise(const u32* in, u32* out, u32* count, u64 n, u32 limit) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    const bool keeps = i < n && in[i] < limit;
    const u32 kept = __ballot_sync(full_warp, keeps);
    u32 first = 0;
    if (threadIdx.x % warp_size == 0) {
        first = atomicAdd(count, __popc(kept));
    }
    first = __shfl_sync(full_warp, first, 0);
    if (keeps) {
        out[first] = in[i];
    }
}
