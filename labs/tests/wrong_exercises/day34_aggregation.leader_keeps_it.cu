// must be told: size 1000: element 34 of key 1 has slot 1, which another has
#include "common.cuh"

// Only the leader learns where the slots begin.
extern "C" __global__ void exercise(const u32* key, u32* count, u32* slot, u64 n) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    const u32 lane = threadIdx.x % warp_size;
    const u32 there = __ballot_sync(full_warp, i < n);
    if (i >= n) {
        return;
    }
    const u32 peers = __match_any_sync(there, key[i]);
    const u32 leader = __ffs(peers) - 1;
    u32 first = 0;
    if (lane == leader) {
        first = atomicAdd(&count[key[i]], u32(__popc(peers)));
    }
    slot[i] = first + __popc(peers & ((1u << lane) - 1));
}
