// must be told: size 20001: 632 global adds, at most 79 wanted
#include "common.cuh"

// Right, and short of the goal: one global add a warp.
extern "C" __global__ void exercise(const float* in, float* total, u64 n) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    float sum = i < n ? in[i] : 0.0f;
    for (u32 width = warp_size / 2; width > 0; width /= 2) {
        sum += __shfl_down_sync(full_warp, sum, width);
    }
    if (threadIdx.x % warp_size == 0) {
        atomicAdd(total, sum);
    }
}
