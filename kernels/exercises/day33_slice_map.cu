// Exercise: spread a hot counter over all slices, given a map of them.
//
// As it stands, n adds go to 64 neighbouring lines, and most of these lie in the same few slices. `slice` is a map as the lab
// makes it: slice[l] is the slice of line l, from 1 to `slices`, or 0 where that stayed open. Every slice has a line at least.
// The total may be spread over any words: the host adds them all up. Place the adds so that
//   1. the total stays right;
//   2. no add goes to a line whose slice is not known;
//   3. no slice gets more than its share of the adds, n / slices, rounded up.
//
// The launch: 256 threads a block, as many blocks as it takes to have a thread an add; `word` holds `lines` lines of 32 words
// and is 0 before it. `slices` is at most 32.
// Check it with: cargo labs exercise day33
#include "common.cuh"

constexpr u32 words_a_line = 32;

extern "C" __global__ void exercise(const u32* slice, u32 lines, u32 slices, u32* word, u64 n) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&word[i % 64 * words_a_line], 1u);
    }
}
