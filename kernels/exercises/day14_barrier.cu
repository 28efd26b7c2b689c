// Exercise: every thread needs the block's total, round after round, with one barrier a round.
//
// In each round a value becomes three times itself, plus the sum of its block's values before the round, modulo 2^32. As
// it stands, a thread reads the total when it has added its own value, and thread 0 zeroes it whenever it gets there.
// Mend both:
//   1. a thread reads a total in which all the block's values are, and only those of this round;
//   2. a block meets at most one barrier a round, and one more.
//
// The launch: 256 threads a block, as many blocks as it takes to have a thread a value.
// Check it with: cargo labs exercise day14
#include "common.cuh"

extern "C" __global__ void exercise(u32* values, u64 n, u32 rounds) {
    __shared__ u32 total;
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    u32 value = i < n ? values[i] : 0;
    for (u32 round = 0; round < rounds; ++round) {
        if (threadIdx.x == 0) {
            total = 0;
        }
        atomicAdd(&total, value);
        value = i < n ? 3 * value + total : 0;
    }
    if (i < n) {
        values[i] = value;
    }
}
