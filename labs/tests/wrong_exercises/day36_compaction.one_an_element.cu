// must be told: global atomics, at most 626 wanted
#include "common.cuh"

// Right, and short of the goal by what the source asks for; what the compiler folds does not count.
extern "C" __global__ void exercise(const u32* in, u32* out, u32* count, u64 n, u32 limit) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n && in[i] < limit) {
        out[atomicAdd(count, 1u)] = in[i];
    }
}
