// must be told: size 255
#include "common.cuh"

// The value of a thread that left is never written, and added all the same.
extern "C" __global__ void exercise(const float* in, float* total, u64 n) {
    __shared__ float value[256];
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (threadIdx.x == 255) {
        value[255] = 1.0f;
    }
    __syncthreads();
    if (i >= n) {
        return;
    }
    value[threadIdx.x] = in[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (u32 t = 0; t < 256; ++t) {
            sum += value[t];
        }
        atomicAdd(total, sum);
    }
}
