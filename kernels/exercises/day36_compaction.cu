// Exercise: give every kept element a slot of its own, with at most one global atomic a warp.
//
// As it stands, every kept element adds 1 to the counter and then looks there for its slot: two elements can see the
// same number, and there are as many atomics as kept elements. Mend both:
//   1. no two elements share a slot, and slots 0 to *count - 1 are all used, in any order;
//   2. a warp (or a block) reserves its slots with one atomic.
//
// The launch: 256 threads a block, as many blocks as it takes to have a thread an element, `*count` is 0 before it. An
// element below `limit` is kept, and `limit` is at most 0xffffffff.
// Check it with: cargo labs exercise day36
#include "common.cuh"

extern "C" __global__ void exercise(const u32* in, u32* out, u32* count, u64 n, u32 limit) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n && in[i] < limit) {
        atomicAdd(count, 1u);
        out[*count - 1] = in[i];
    }
}
