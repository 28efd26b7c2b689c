// must be told: of [NaN, -5.0] the maximum is NaN, the reference -5.0
#include "common.cuh"

// No number is greater than NaN, so the word never leaves its first value.
extern "C" __global__ void exercise(const float* in, float* highest, u64 n) {
    const float no_number = __uint_as_float(0x7fffffffu);
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    float value = i < n ? in[i] : no_number;
    for (u32 width = warp_size / 2; width > 0; width /= 2) {
        value = fmaxf(value, __shfl_down_sync(full_warp, value, width));
    }
    if (threadIdx.x % warp_size == 0) {
        u32* word = reinterpret_cast<u32*>(highest);
        u32 seen = *static_cast<volatile u32*>(word);
        while (value > __uint_as_float(seen)) {
            const u32 old = atomicCAS(word, seen, __float_as_uint(value));
            if (old == seen) {
                break;
            }
            seen = old;
        }
    }
}
