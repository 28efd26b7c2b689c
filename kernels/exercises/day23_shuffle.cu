// Exercise: the largest of a warp's values, also in a warp that is not full.
//
// As it stands, threads without a value leave, and the shuffles then name lanes that are gone. Mend it so that
// largest[warp] is right for any n. The values are negative: a zero from nowhere must not win.
//
// The launch: 256 threads a block, a thread a value; `largest` has a slot for every warp of the grid.
// Check it with: cargo labs exercise day23
#include "common.cuh"

extern "C" __global__ void exercise(const int* in, int* largest, u32 n) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    int value = in[i];
    for (u32 width = warp_size / 2; width > 0; width /= 2) {
        value = max(value, __shfl_xor_sync(full_warp, value, width));
    }
    if (threadIdx.x % warp_size == 0) {
        largest[i / warp_size] = value;
    }
}
