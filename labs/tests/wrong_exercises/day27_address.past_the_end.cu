// must be told: access of 4 bytes
#include "common.cuh"

// 256 lines are more than `part` has.
extern "C" __global__ void exercise(const float* in, float* part, u64 n) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&part[i % 256 * 32], in[i]);
    }
}
