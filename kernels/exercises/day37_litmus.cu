// Exercise: block 0 hands a message to block 1, so that block 1 never copies a word that block 0 had not written.
//
// As it stands the flag is released and acquired, on most machines and most days the copy is right, and yet the two
// blocks race: whoever has seen the flag need not have the message. Mend it:
//   1. out[i] == in[i] for every i < n;
//   2. no data race, under any schedule;
//   3. nothing waits without a bound: `patience` stays.
//
// The launch: 2 blocks of 256 threads; `*flag` is 0 before it.
// Check it with: cargo labs exercise day37
#include "common.cuh"

constexpr u32 patience = 1u << 16;

static __device__ void raise(u32* flag) {
    asm volatile("st.release.cta.global.u32 [%0], %1;" ::"l"(flag), "r"(1u) : "memory");
}

static __device__ u32 look(const u32* flag) {
    u32 value;
    asm volatile("ld.acquire.cta.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
}

extern "C" __global__ void exercise(const u32* in, u32* message, u32* flag, u32* out, u32 n) {
    __shared__ u32 arrived;
    if (blockIdx.x == 0) {
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
            message[i] = in[i];
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            raise(flag);
        }
        return;
    }
    if (threadIdx.x == 0) {
        arrived = 0;
        for (u32 tries = 0; tries < patience && arrived == 0; tries++) {
            arrived = look(flag);
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < n && arrived != 0; i += blockDim.x) {
        out[i] = message[i];
    }
}
