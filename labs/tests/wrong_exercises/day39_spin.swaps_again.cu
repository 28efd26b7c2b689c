// must be told: global atomics, at most
#include "common.cuh"

// Fenced and right, with a swap for every look.
extern "C" __global__ void exercise(u32* lock, u32* counter, u32 updates) {
    for (u32 k = 0; k < updates; ++k) {
        for (bool done = false; !done;) {
            if (atomicExch(lock, 1u) == 0) {
                __threadfence();
                *counter += 1;
                __threadfence();
                atomicExch(lock, 0u);
                done = true;
            }
        }
    }
}
