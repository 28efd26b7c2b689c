// Solution: the host knows that n fits a word, so nobody has to look at the old value.
#include "common.cuh"

constexpr u32 block_size = 256;
constexpr u32 bin_count = 8;

extern "C" __global__ void exercise(const u32* in, u32* bins, u64 n) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    if (i < n) {
        atomicAdd(&bins[in[i] % bin_count], 1u);
    }
}
