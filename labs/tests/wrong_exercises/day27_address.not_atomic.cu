// must be told: size 20001: the parts add up to
#include "common.cuh"

// Spread far apart, and added without an atomic: adds of different warps to one word are lost.
extern "C" __global__ void exercise(const float* in, float* part, u64 n) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        part[i % 64 * 32] += in[i];
    }
}
