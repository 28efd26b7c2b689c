// must be told: size 20011: the total is
#include "common.cuh"

// Fixed point in a 32-bit word leaves eight bits after the point: one total in any order, and not the right one.
extern "C" __global__ void exercise(const float* in, float* total, u64* scratch, u64 n) {
    __shared__ u32 value[256];
    const u32 t = threadIdx.x;
    const u64 i = u64(blockIdx.x) * blockDim.x + t;
    value[t] = i < n ? u32(__float2int_rz(in[i] * 256.0f)) : 0u;
    __syncthreads();
    for (u32 width = 128; width > 0; width /= 2) {
        if (t < width) {
            value[t] += value[t + width];
        }
        __syncthreads();
    }
    if (t == 0) {
        atomicAdd(reinterpret_cast<u32*>(&scratch[0]), value[0]);
        __threadfence();
        if (atomicAdd(&scratch[1], 1ull) == gridDim.x - 1) {
            __threadfence();
            *total = float(*reinterpret_cast<volatile u32*>(&scratch[0])) / 256.0f;
        }
    }
}
