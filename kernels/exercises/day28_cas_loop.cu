// Exercise: the maximum of n floats at one address, right for every float, with few compare-and-swaps.
//
// CUDA has no atomic maximum for floats. This one takes the integer maximum of the bits, which is wrong below zero and
// for NaN. Mend it, then make it cheap:
//   1. write the maximum as a compare-and-swap loop, with fmaxf's policy: a NaN loses to any number, only NaNs give NaN,
//      and -0 is below +0;
//   2. fold the warp's 32 values into one before anything is swapped.
//
// The launch: 256 threads a block, as many blocks as it takes to have a thread an element; `*highest` is NaN before it,
// which means 'no number yet'.
// Check it with: cargo labs exercise day28
#include "common.cuh"

extern "C" __global__ void exercise(const float* in, float* highest, u64 n) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicMax(reinterpret_cast<int*>(highest), __float_as_int(in[i]));
    }
}
