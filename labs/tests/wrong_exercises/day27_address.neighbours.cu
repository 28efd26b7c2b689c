// must be told: size 20001: the busiest sector gets 2504 adds, at most 313 wanted
#include "common.cuh"

// 64 addresses, but eight of them to a sector.
extern "C" __global__ void exercise(const float* in, float* part, u64 n) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&part[i % 64], in[i]);
    }
}
