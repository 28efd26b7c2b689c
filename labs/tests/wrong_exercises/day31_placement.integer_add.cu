// must be told: size 31: the two totals are
// An integer add knows nothing of halves.
#include "common.cuh"

constexpr u32 block_size = 256;

extern "C" __global__ void exercise(const u32* in, u32* total, u64 n) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    if (i < n) {
        atomicAdd(total, in[i]);
    }
}
