// must be told: size 20011: other bits under 8 schedules
#include "common.cuh"

// The slot is the ticket: one launch, and still the order in which the blocks came.
extern "C" __global__ void exercise(const float* in, float* total, u64* scratch, u64 n) {
    __shared__ float value[256];
    u64* tickets = scratch;
    float* slot = reinterpret_cast<float*>(scratch + 1);
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
        const u64 ticket = atomicAdd(tickets, 1ull);
        slot[ticket & 0xffffffffu] = value[0];
        __threadfence();
        // The count of sums that are there stands in the ticket word's upper half.
        const bool last = (atomicAdd(tickets, 1ull << 32) >> 32) == gridDim.x - 1;
        __threadfence();
        if (last) {
            float sum = 0.0f;
            for (u32 b = 0; b < gridDim.x; ++b) {
                sum += slot[b];
            }
            *total = sum;
        }
    }
}
