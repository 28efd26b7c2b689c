// must be told: the reference
#include "common.cuh"

// Bins are sent before the other warps have counted.
extern "C" __global__ void exercise(const unsigned char* in, u32* bins, u64 n) {
    __shared__ u32 count[256];
    count[threadIdx.x] = 0;
    __syncthreads();
    const u64 stride = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
        atomicAdd(&count[in[i]], 1);
    }
    atomicAdd(&bins[threadIdx.x], count[threadIdx.x]);
}
