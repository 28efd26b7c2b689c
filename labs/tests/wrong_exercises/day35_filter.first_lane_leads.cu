// must be told: size 5001, threshold 50: the counter is
#include "common.cuh"

// The hits of a warp are added only where its first lane is one of them.
extern "C" __global__ void exercise(const u32* in, u64* counter, u64 n, u32 threshold) {
    __shared__ u32 block_hits;
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        block_hits = 0;
    }
    __syncthreads();
    if (i < n && in[i] < threshold) {
        const u32 group = __activemask();
        if (threadIdx.x % warp_size == 0) {
            atomicAdd(&block_hits, u32(__popc(group)));
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(counter, u64(block_hits));
    }
}
