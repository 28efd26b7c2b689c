// must be told: the busiest slice gets
// All words of one line: more addresses, one slice.
#include "common.cuh"

extern "C" __global__ void exercise(const u32* slice, u32 lines, u32 slices, u32* word, u64 n) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&word[i % 32], 1u);
    }
}
