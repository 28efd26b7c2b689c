// Exercise: count the values below a threshold with at most one global add a block, at any hit rate.
//
// As it stands, the count is right and every hit adds to the counter by itself. Mend that: the hits of a block's 256
// threads become one number before anything is sent to `*counter`. The count must stay right when no value is a hit,
// when a few are, when all are, and when the last block has threads without an element.
//
// The launch: 256 threads a block, as many blocks as it takes to have a thread an element, `*counter` is 0 before it.
// Check it with: cargo labs exercise day35
#include "common.cuh"

extern "C" __global__ void exercise(const u32* in, u64* counter, u64 n, u32 threshold) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n && in[i] < threshold) {
        atomicAdd(counter, 1ull);
    }
}
