// must be told: the maximum is
#include "common.cuh"

// Nobody looks whether the swap took place: of the warps that saw the same word, one is heard.
extern "C" __global__ void exercise(const float* in, float* highest, u64 n) {
    const float no_number = __uint_as_float(0x7fffffffu);
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    float value = i < n ? in[i] : no_number;
    for (u32 width = warp_size / 2; width > 0; width /= 2) {
        value = fmaxf(value, __shfl_down_sync(full_warp, value, width));
    }
    if (threadIdx.x % warp_size == 0) {
        u32* word = reinterpret_cast<u32*>(highest);
        const u32 seen = *static_cast<volatile u32*>(word);
        atomicCAS(word, seen, __float_as_uint(fmaxf(__uint_as_float(seen), value)));
    }
}
