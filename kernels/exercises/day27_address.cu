// Exercise: spread a hot counter over enough addresses.
//
// As it stands, all n float adds go to one word, where they queue. The total may be spread over the 2,048 words of `part`: the
// host adds them up at the end. Spread the adds so that
//   1. the total stays right;
//   2. no address gets more than one in 64 of the adds;
//   3. no sector, 32 bytes, gets more than one in 64 of them either: warps that meet in a sector take turns, too.
//
// The launch: 256 threads a block, as many blocks as it takes to have a thread an element; all of `part` is 0 before it,
// and it begins at a multiple of 256 bytes.
// Check it with: cargo labs exercise day27
#include "common.cuh"

extern "C" __global__ void exercise(const float* in, float* part, u64 n) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&part[0], in[i]);
    }
}
