// must be told: no data race is wanted
#include "common.cuh"

// Tickets, waited for by volatile loads: nothing is acquired, nothing released.
extern "C" __global__ void exercise(u32* lock, u32* counter, u32 updates) {
    volatile u32* served = lock + 1;
    for (u32 k = 0; k < updates; ++k) {
        const u32 ticket = atomicAdd(lock, 1u);
        for (bool done = false; !done;) {
            if (*served == ticket) {
                *counter += 1;
                *served = ticket + 1;
                done = true;
            }
        }
    }
}
