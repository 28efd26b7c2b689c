// Solution: a ballot counts the warp's kept elements, its first lane takes that many tickets, a shuffle hands the first
// of them out, and the set bits below a lane's own tell it how far on its slot lies.
#include "common.cuh"

extern "C" __global__ void exercise(const u32* in, u32* out, u32* count, u64 n, u32 limit) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    const u32 lane = threadIdx.x % warp_size;
    const bool keeps = i < n && in[i] < limit;
    const u32 kept = __ballot_sync(full_warp, keeps);
    u32 first = 0;
    if (lane == 0 && kept != 0) {
        first = atomicAdd(count, __popc(kept));
    }
    first = __shfl_sync(full_warp, first, 0);
    if (keeps) {
        out[first + __popc(kept & ((1u << lane) - 1))] = in[i];
    }
}
