// must be told: the reference
#include "common.cuh"

// The solution with barriers of the warp: seven other warps are not waited for.
extern "C" __global__ void exercise(u32* values, u64 n, u32 rounds) {
    __shared__ u32 total[3];
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    u32 value = i < n ? values[i] : 0;
    if (threadIdx.x == 0) {
        total[0] = 0;
    }
    __syncwarp();
    for (u32 round = 0; round < rounds; ++round) {
        if (threadIdx.x == 0) {
            total[(round + 1) % 3] = 0;
        }
        atomicAdd(&total[round % 3], value);
        __syncwarp();
        value = i < n ? 3 * value + total[round % 3] : 0;
    }
    if (i < n) {
        values[i] = value;
    }
}
