// must be told: the busiest slice gets
// One line a slice was not looked for: every line of the map takes its turn.
#include "common.cuh"

extern "C" __global__ void exercise(const u32* slice, u32 lines, u32 slices, u32* word, u64 n) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    u32 line = u32(i % lines);
    while (slice[line] == 0) {
        line = (line + 1) % lines;
    }
    if (i < n) {
        atomicAdd(&word[u64(line) * 32], 1u);
    }
}
