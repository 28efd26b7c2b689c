// must be told: the largest value of warp 0 is 0
#include "common.cuh"

// A thread without a value takes part with 0, which is larger than any of them.
extern "C" __global__ void exercise(const int* in, int* largest, u32 n) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = i < n ? in[i] : 0;
    for (u32 width = warp_size / 2; width > 0; width /= 2) {
        value = max(value, __shfl_xor_sync(full_warp, value, width));
    }
    if (threadIdx.x % warp_size == 0) {
        largest[i / warp_size] = value;
    }
}
