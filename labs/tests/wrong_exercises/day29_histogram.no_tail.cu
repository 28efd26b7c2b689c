// must be told: size 4099: bin
#include "common.cuh"

// Private bins, and the last n % 4 bytes still forgotten.
extern "C" __global__ void exercise(const unsigned char* in, u32* bins, u64 n) {
    __shared__ u32 count[256];
    count[threadIdx.x] = 0;
    __syncthreads();
    const u32* words = reinterpret_cast<const u32*>(in);
    const u64 stride = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n / 4; i += stride) {
        const u32 word = words[i];
        for (u32 shift = 0; shift < 32; shift += 8) {
            atomicAdd(&count[word >> shift & 255], 1);
        }
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], count[threadIdx.x]);
}
