// must be told: no data race is wanted
#include "common.cuh"

// One word and two barriers: thread 0 zeroes it for the next round while others still read this round's total.
extern "C" __global__ void exercise(u32* values, u64 n, u32 rounds) {
    __shared__ u32 total;
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    u32 value = i < n ? values[i] : 0;
    for (u32 round = 0; round < rounds; ++round) {
        if (threadIdx.x == 0) {
            total = 0;
        }
        __syncthreads();
        atomicAdd(&total, value);
        __syncthreads();
        value = i < n ? 3 * value + total : 0;
    }
    if (i < n) {
        values[i] = value;
    }
}
