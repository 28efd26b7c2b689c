// must be told: size 1: the simulator stopped the work
// The guard is gone with the second add.
#include "common.cuh"

constexpr u32 block_size = 256;

extern "C" __global__ void exercise(const u32* in, u32* total, u64 n) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;" ::"l"(total), "r"(in[i]) : "memory");
}
