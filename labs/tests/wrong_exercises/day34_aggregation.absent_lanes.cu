// must be told: size 1: the simulator stopped the work: the mask 0xffffffff of a .sync instruction names lanes 0xfffffffe
#include "common.cuh"

// The mask names lanes that have left.
extern "C" __global__ void exercise(const u32* key, u32* count, u32* slot, u64 n) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    const u32 lane = threadIdx.x % warp_size;
    const u32 there = __ballot_sync(full_warp, i < n);
    if (i >= n) {
        return;
    }
    const u32 peers = __match_any_sync(full_warp, key[i]);
    const u32 leader = __ffs(peers) - 1;
    u32 first = 0;
    if (lane == leader) {
        first = atomicAdd(&count[key[i]], u32(__popc(peers)));
    }
    first = __shfl_sync(there, first, leader);
    slot[i] = first + __popc(peers & ((1u << lane) - 1));
}
