// must be told: adds went to ambiguous lines, none wanted
// A line of slice 0 is none: here it is taken for one more slice.
#include "common.cuh"

extern "C" __global__ void exercise(const u32* slice, u32 lines, u32 slices, u32* word, u64 n) {
    __shared__ u32 line_of[33];
    if (threadIdx.x < 33) {
        line_of[threadIdx.x] = ~0u;
    }
    __syncthreads();
    for (u32 line = threadIdx.x; line < lines; line += blockDim.x) {
        atomicMin(&line_of[slice[line]], line);
    }
    __syncthreads();
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&word[u64(line_of[i % (slices + 1)]) * 32], 1u);
    }
}
