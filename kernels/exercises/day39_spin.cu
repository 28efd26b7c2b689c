// Exercise: a lock that every thread can take, and that waits by loads.
//
// Every thread takes the lock `updates` times and adds 1 to a plain counter. As it stands, the lane that has the lock may
// wait for the lanes of its warp that want it; what one holder wrote the next may not see; and a waiting thread swaps
// again and again, in the way of the one that wants to give the lock back. Mend all three:
//   1. the lane whose turn it is can go on while the others of its warp still wait;
//   2. no update is lost: whoever takes the lock sees what those before it wrote;
//   3. a lock taken costs one atomic: draw a ticket, and wait for your number by loads.
//
// The launch: `lock` has two words, 0 before it; `*counter` too.
// Check it with: cargo labs exercise day39
#include "common.cuh"

extern "C" __global__ void exercise(u32* lock, u32* counter, u32 updates) {
    for (u32 k = 0; k < updates; ++k) {
        while (atomicCAS(lock, 0u, 1u) != 0) {
        }
        *counter += 1;
        atomicExch(lock, 0u);
    }
}
