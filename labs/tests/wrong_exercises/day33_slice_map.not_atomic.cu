// must be told: the words add up to
// The right lines, and adds that are lost.
#include "common.cuh"

extern "C" __global__ void exercise(const u32* slice, u32 lines, u32 slices, u32* word, u64 n) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    const u32 wanted = u32(i % slices) + 1;
    for (u32 line = 0; i < n && line < lines; ++line) {
        if (slice[line] == wanted) {
            word[line * 32] += 1;
            break;
        }
    }
}
