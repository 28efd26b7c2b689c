// Exercise: count values by their remainder of 8, without a reply for any add.
//
// in     n values
// bins   8 words, 0 before the launch; bins[r] is to hold how many values leave the remainder r
// Launched with 256 threads a block and as many blocks as it takes to have a thread a value; any n from 1 up.
//
// The kernel is right. It also watches that no bin runs over, and so waits for every old value.
// Goal: the same counts, and no request that asks for a reply. Check with: cargo labs exercise day32
#include "common.cuh"

constexpr u32 block_size = 256;
constexpr u32 bin_count = 8;

extern "C" __global__ void exercise(const u32* in, u32* bins, u64 n) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    if (i < n) {
        const u32 old = atomicAdd(&bins[in[i] % bin_count], 1u);
        if (old == 0xffffffffu) {
            __trap();
        }
    }
}
