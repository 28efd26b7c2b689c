// Solution: every thread stays; those without a value hold the one that can't win.
#include "common.cuh"

extern "C" __global__ void exercise(const int* in, int* largest, u32 n) {
    constexpr int least = -2147483647 - 1;
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = i < n ? in[i] : least;
    for (u32 width = warp_size / 2; width > 0; width /= 2) {
        value = max(value, __shfl_xor_sync(full_warp, value, width));
    }
    if (threadIdx.x % warp_size == 0) {
        largest[i / warp_size] = value;
    }
}
