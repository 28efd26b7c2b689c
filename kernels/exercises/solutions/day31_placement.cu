// Solution: the pair goes as it is; the L2 adds both halves, and no loop is left.
#include "common.cuh"

constexpr u32 block_size = 256;

static __device__ void add_pair(u32* total, u32 pair) {
    asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;" ::"l"(total), "r"(pair) : "memory");
}

extern "C" __global__ void exercise(const u32* in, u32* total, u64 n) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    if (i < n) {
        add_pair(total, in[i]);
    }
}
