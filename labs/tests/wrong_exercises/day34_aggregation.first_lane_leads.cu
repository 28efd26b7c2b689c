// must be told: size 31: the counter of key
#include "common.cuh"

// The first lane leads every group, its own and all others.
extern "C" __global__ void exercise(const u32* key, u32* count, u32* slot, u64 n) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    const u32 lane = threadIdx.x % warp_size;
    const u32 there = __ballot_sync(full_warp, i < n);
    if (i >= n) {
        return;
    }
    const u32 peers = __match_any_sync(there, key[i]);
    const u32 leader = __ffs(there) - 1;
    u32 first = 0;
    if (lane == leader) {
        first = atomicAdd(&count[key[i]], u32(__popc(peers)));
    }
    first = __shfl_sync(there, first, leader);
    slot[i] = first + __popc(peers & ((1u << lane) - 1));
}
