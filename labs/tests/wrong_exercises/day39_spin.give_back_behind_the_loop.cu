// must be told: as before Volta: 32 threads: the simulator stopped the work: deadlock
#include "common.cuh"

static __device__ __forceinline__ u32 load_acquire(const u32* word) {
    u32 value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(value) : "l"(__cvta_generic_to_global(word)) : "memory");
    return value;
}

static __device__ __forceinline__ void store_release(u32* word, u32 value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(word)), "r"(value) : "memory");
}

extern "C" __global__ void exercise(u32* lock, u32* counter, u32 updates) {
    u32* next = lock;
    u32* served = lock + 1;
    for (u32 k = 0; k < updates; ++k) {
        const u32 ticket = atomicAdd(next, 1u);
        for (bool done = false; !done;) {
            if (load_acquire(served) == ticket) {
                *counter += 1;
                done = true;
            }
        }
        store_release(served, ticket + 1);
    }
}
