// must be told: instructions a thread, at most
#include "common.cuh"

// Right, and a loop over 31 lanes where five steps do.
extern "C" __global__ void exercise(const int* in, int* largest, u32 n) {
    constexpr int least = -2147483647 - 1;
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    const int mine = i < n ? in[i] : least;
    int value = mine;
    for (u32 lane = 0; lane < warp_size; ++lane) {
        value = max(value, __shfl_sync(full_warp, mine, lane));
    }
    if (threadIdx.x % warp_size == 0) {
        largest[i / warp_size] = value;
    }
}
