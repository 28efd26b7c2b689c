// Exercise: the same bits in every run, without a second launch.
//
// As it stands, the blocks' sums are right to the bit, and reach the total in whatever order the blocks end: float adds
// in another order round otherwise. Have the sums added in an order that does not depend on who comes first.
//
// The launch: 256 threads a block, as many blocks as it takes to have a thread an element. Before it, `*total` is 0,
// and so are gridDim.x + 1 words of `scratch`, yours to use.
// Goals: one total under every schedule, within 1e-6 of the sum, no data race, at most two global atomics a block.
// Check it with: cargo labs exercise day30
#include "common.cuh"

extern "C" __global__ void exercise(const float* in, float* total, u64* scratch, u64 n) {
    __shared__ float value[256];
    const u32 t = threadIdx.x;
    const u64 i = u64(blockIdx.x) * blockDim.x + t;
    value[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (u32 width = 128; width > 0; width /= 2) {
        if (t < width) {
            value[t] += value[t + width];
        }
        __syncthreads();
    }
    if (t == 0) {
        atomicAdd(total, value[0]);
    }
}
