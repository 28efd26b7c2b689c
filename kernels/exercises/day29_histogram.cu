// Exercise: count n bytes into 256 bins with at most 256 global adds a block.
//
// As it stands, every byte is an add to global memory, and the last n % 4 bytes are forgotten. Mend both:
//   1. the block counts in bins of its own in shared memory and sends one add a bin at its end;
//   2. every byte is counted, whatever n is.
//
// The launch: 256 threads a block, a block for every 4,096 bytes or part of them, `in` is aligned to 256 bytes, `bins`
// is 0 before it.
// Check it with: cargo labs exercise day29
#include "common.cuh"

extern "C" __global__ void exercise(const unsigned char* in, u32* bins, u64 n) {
    const u32* words = reinterpret_cast<const u32*>(in);
    const u64 stride = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n / 4; i += stride) {
        const u32 word = words[i];
        atomicAdd(&bins[word & 255], 1);
        atomicAdd(&bins[word >> 8 & 255], 1);
        atomicAdd(&bins[word >> 16 & 255], 1);
        atomicAdd(&bins[word >> 24], 1);
    }
}
