// must be told: no data race is wanted
#include "common.cuh"

// No fences: the last block may read slots before they are written.
// The block's sum of `sum`, in every thread, always in the same order.
static __device__ float block_sum(float sum) {
    __shared__ float value[256];
    const u32 t = threadIdx.x;
    value[t] = sum;
    __syncthreads();
    for (u32 width = 128; width > 0; width /= 2) {
        if (t < width) {
            value[t] += value[t + width];
        }
        __syncthreads();
    }
    const float result = value[0];
    __syncthreads();  // the next call writes value[] again
    return result;
}
extern "C" __global__ void exercise(const float* in, float* total, u64* scratch, u64 n) {
    __shared__ bool last;
    u64* tickets = scratch;
    float* slot = reinterpret_cast<float*>(scratch + 1);
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    const float sum = block_sum(i < n ? in[i] : 0.0f);
    if (threadIdx.x == 0) {
        slot[blockIdx.x] = sum;
        last = atomicAdd(tickets, 1ull) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) {
        return;
    }
    float slots = 0.0f;
    for (u32 b = threadIdx.x; b < gridDim.x; b += blockDim.x) {
        slots += slot[b];
    }
    slots = block_sum(slots);
    if (threadIdx.x == 0) {
        *total = slots;
    }
}
