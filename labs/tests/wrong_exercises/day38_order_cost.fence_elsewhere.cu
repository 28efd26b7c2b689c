// must be told: which releases nothing: it is no release and no fence stands before it
#include "common.cuh"

static __device__ __forceinline__ u32 draw(u32* ticket) {
    u32 drawn;
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;"
                 : "=r"(drawn)
                 : "l"(__cvta_generic_to_global(ticket))
                 : "memory");
    return drawn;
}

extern "C" __global__ void exercise(const u32* in, u32* stage, u32* out, u32* ticket) {
    __shared__ bool last;
    const u32 n = gridDim.x * blockDim.x;
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    stage[i] = 2 * in[i];
    __syncthreads();
    if (threadIdx.x == 32) {
        __threadfence();
    }
    if (threadIdx.x == 0) {
        last = draw(ticket) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) {
        return;
    }
    for (u32 k = threadIdx.x; k < n; k += blockDim.x) {
        out[k] = stage[n - 1 - k];
    }
}
