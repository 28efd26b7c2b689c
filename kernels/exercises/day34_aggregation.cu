// Exercise: give the elements of each key slots 0, 1, 2 .. with at most one atomic for each distinct key of a warp.
//
// As it stands every element takes a ticket at the counter of its key, and the slots are right: those of a key are all
// different and leave no gap. Which element gets which does not matter. The compiler can't fold the adds, since the key
// picks the address and somebody reads the old value. Fold them yourself: lanes of a warp that hold the same key share
// one add.
//
// The launch: 256 threads a block, as many blocks as it takes to have a thread an element, `count` is 0 before it.
// Check it with: cargo labs exercise day34
#include "common.cuh"

extern "C" __global__ void exercise(const u32* key, u32* count, u32* slot, u64 n) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        slot[i] = atomicAdd(&count[key[i]], 1u);
    }
}
