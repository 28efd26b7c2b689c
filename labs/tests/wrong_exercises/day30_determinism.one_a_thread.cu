// must be told: size 20011: 40023 global atomics, at most 158 wanted
#include "common.cuh"

// Fixed point, one total in any order, and an atomic a thread. The last thread to count makes it a float.
extern "C" __global__ void exercise(const float* in, float* total, u64* scratch, u64 n) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const u64 units = u64(__float2ll_rn(in[i] * 4294967296.0f));
    atomicAdd(&scratch[0], units);
    __threadfence();
    if (atomicAdd(&scratch[1], 1ull) == n - 1) {
        __threadfence();
        *total = float(atomicAdd(&scratch[0], 0ull)) / 4294967296.0f;
    }
}
