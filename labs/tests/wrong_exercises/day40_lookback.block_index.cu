// must be told: deadlock
// Released and acquired, but tiles by the index of the block.
#include "common.cuh"

constexpr u32 nothing = 0;
constexpr u32 sum_there = 1;     // the sum of the tile's own elements
constexpr u32 prefix_there = 2;  // the sum of all elements up to its last

static __device__ void store_release(u32* word, u32 value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

static __device__ u32 load_acquire(const u32* word) {
    u32 value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

// The sum of the block's elements up to this thread's; `*sum` becomes that of all. This part is right.
static __device__ u32 scan_block(u32 value, u32* sum) {
    __shared__ u32 up_to[256];
    up_to[threadIdx.x] = value;
    for (u32 distance = 1; distance < 256; distance *= 2) {
        __syncthreads();
        const u32 below = threadIdx.x >= distance ? up_to[threadIdx.x - distance] : 0;
        __syncthreads();
        up_to[threadIdx.x] += below;
    }
    __syncthreads();
    *sum = up_to[255];
    return up_to[threadIdx.x];
}

extern "C" __global__ void exercise(const u32* in, u32* out, u32* ticket, u32* flags, u32* sums, u32* prefixes, u64 n) {
    __shared__ u32 before;
    const u32 tile = blockIdx.x;
    const u64 i = u64(tile) * 256 + threadIdx.x;
    u32 sum;
    const u32 up_to = scan_block(i < n ? in[i] : 0, &sum);
    if (threadIdx.x == 0) {
        sums[tile] = sum;
        store_release(&flags[tile], sum_there);
        u32 earlier = 0;
        u32 seen = nothing;
        for (u32 other = tile; other > 0 && seen != prefix_there; --other) {
            do {
                seen = load_acquire(&flags[other - 1]);
            } while (seen == nothing);
            earlier += seen == prefix_there ? prefixes[other - 1] : sums[other - 1];
        }
        prefixes[tile] = earlier + sum;
        store_release(&flags[tile], prefix_there);
        before = earlier;
    }
    __syncthreads();
    if (i < n) {
        out[i] = before + up_to;
    }
}
