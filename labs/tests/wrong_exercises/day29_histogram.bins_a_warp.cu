// must be told: size 50003: 26624 global adds, at most 3328 wanted
#include "common.cuh"

// Right, and short of the goal: every warp sends all bins of its own.
extern "C" __global__ void exercise(const unsigned char* in, u32* bins, u64 n) {
    __shared__ u32 count[8][256];
    for (u32 warp = 0; warp < 8; ++warp) {
        count[warp][threadIdx.x] = 0;
    }
    __syncthreads();
    const u64 stride = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
        atomicAdd(&count[threadIdx.x / warp_size][in[i]], 1);
    }
    __syncthreads();
    for (u32 warp = 0; warp < 8; ++warp) {
        atomicAdd(&bins[threadIdx.x], count[warp][threadIdx.x]);
    }
}
