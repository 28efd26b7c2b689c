// must be told: size 20001: 626 requests of a warp ask for a reply, none is wanted
// The trap is gone, but the comparison is not.
#include "common.cuh"

constexpr u32 block_size = 256;
constexpr u32 bin_count = 8;

extern "C" __global__ void exercise(const u32* in, u32* bins, u64 n) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    if (i < n) {
        const u32 value = in[i];
        if (atomicAdd(&bins[value % bin_count], 1u) > n) {
            bins[0] = 0;
        }
    }
}
