// must be told: was never written
#include "common.cuh"

// One atomic a warp, and the slot is still read from the counter: another warp's tickets may be in it.
extern "C" __global__ void exercise(const u32* in, u32* out, u32* count, u64 n, u32 limit) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    const u32 lane = threadIdx.x % warp_size;
    const bool keeps = i < n && in[i] < limit;
    const u32 kept = __ballot_sync(full_warp, keeps);
    u32 first = 0;
    if (lane == 0) {
        atomicAdd(count, __popc(kept));
        first = *count - __popc(kept);
    }
    first = __shfl_sync(full_warp, first, 0);
    if (keeps) {
        out[first + __popc(kept & ((1u << lane) - 1))] = in[i];
    }
}
