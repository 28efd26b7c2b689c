// Exercise: hand 256 stores over with one release.
//
// Each thread stages a doubled value; whoever draws the last ticket knows that all are staged, and a block writes them to
// `out` in reverse. As it stands, every thread fences for the whole system and draws a ticket, and one thread does all
// the rest without an acquire. Mend it:
//   1. a block draws one ticket, and with it releases what its 256 threads have staged;
//   2. the block with the last ticket acquires, and its threads write `out` together;
//   3. no scope is wider than it has to be (the check can't see that; you can).
//
// The launch: 256 threads a block, a thread a value, `*ticket` is 0 before it. out[i] = 2 * in[n - 1 - i].
// Check it with: cargo labs exercise day38
#include "common.cuh"

extern "C" __global__ void exercise(const u32* in, u32* stage, u32* out, u32* ticket) {
    const u32 n = gridDim.x * blockDim.x;
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    stage[i] = 2 * in[i];
    __threadfence_system();
    if (atomicAdd_system(ticket, 1u) == n - 1) {
        for (u32 k = 0; k < n; ++k) {
            out[k] = stage[n - 1 - k];
        }
    }
}
