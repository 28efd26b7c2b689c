// must be told: no data race is wanted
#include "common.cuh"

// Fences of the block around a counter of all blocks.
extern "C" __global__ void exercise(u32* lock, u32* counter, u32 updates) {
    volatile u32* served = lock + 1;
    for (u32 k = 0; k < updates; ++k) {
        const u32 ticket = atomicAdd(lock, 1u);
        for (bool done = false; !done;) {
            if (*served == ticket) {
                __threadfence_block();
                *counter += 1;
                __threadfence_block();
                *served = ticket + 1;
                done = true;
            }
        }
    }
}
