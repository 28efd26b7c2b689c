// must be told: the counter is
#include "common.cuh"

// Lane 0 leads also where it keeps nothing: then nobody adds, and the others share whatever slots they are handed.
extern "C" __global__ void exercise(const u32* in, u32* out, u32* count, u64 n, u32 limit) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    const u32 lane = threadIdx.x % warp_size;
    const bool keeps = i < n && in[i] < limit;
    const u32 kept = __ballot_sync(full_warp, keeps);
    u32 first = 0;
    if (keeps && lane == 0) {
        first = atomicAdd(count, __popc(kept));
    }
    first = __shfl_sync(full_warp, first, 0);
    if (keeps) {
        out[first + __popc(kept & ((1u << lane) - 1))] = in[i];
    }
}
