// must be told: size 1000: the bins hold
// No atomic asks for no reply, and loses adds.
#include "common.cuh"

constexpr u32 block_size = 256;
constexpr u32 bin_count = 8;

extern "C" __global__ void exercise(const u32* in, u32* bins, u64 n) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    if (i < n) {
        bins[in[i] % bin_count] += 1;
    }
}
