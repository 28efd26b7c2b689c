// must be told: no data race is wanted
#include "common.cuh"

// Two words in turn: the next round's is zeroed after the barrier, with none before the next round's adds.
extern "C" __global__ void exercise(u32* values, u64 n, u32 rounds) {
    __shared__ u32 total[2];
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    u32 value = i < n ? values[i] : 0;
    if (threadIdx.x == 0) {
        total[0] = 0;
    }
    __syncthreads();
    for (u32 round = 0; round < rounds; ++round) {
        atomicAdd(&total[round % 2], value);
        __syncthreads();
        value = i < n ? 3 * value + total[round % 2] : 0;
        if (threadIdx.x == 0) {
            total[(round + 1) % 2] = 0;
        }
    }
    if (i < n) {
        values[i] = value;
    }
}
