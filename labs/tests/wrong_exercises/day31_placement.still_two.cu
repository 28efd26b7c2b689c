// must be told: size 1000: 2000 global adds, at most 1000 wanted
// The loop is gone, but not the second add.
#include "common.cuh"

constexpr u32 block_size = 256;

extern "C" __global__ void exercise(const u32* in, u32* total, u64 n) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    if (i < n) {
        const u32 pair = in[i];
        asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;" ::"l"(total), "r"(pair & 0xffffu) : "memory");
        asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;" ::"l"(total), "r"(pair & ~0xffffu) : "memory");
    }
}
