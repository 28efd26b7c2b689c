// must be told: size 256, threshold 1000: the counter is 0, the host counts 256
#include "common.cuh"

// Right until a block is full of hits: 256 does not fit a byte.
extern "C" __global__ void exercise(const u32* in, u64* counter, u64 n, u32 threshold) {
    __shared__ unsigned char warp_hits[8];
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    const u32 hits = __ballot_sync(full_warp, i < n && in[i] < threshold);
    if (threadIdx.x % warp_size == 0) {
        warp_hits[threadIdx.x / warp_size] = __popc(hits);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned char block_hits = 0;
        for (u32 warp = 0; warp < 8; ++warp) {
            block_hits += warp_hits[warp];
        }
        atomicAdd(counter, u64(block_hits));
    }
}
