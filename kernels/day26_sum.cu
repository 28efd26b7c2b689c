// Question: what does it cost when every thread of a grid adds into one float?
//
// global_atomic      every thread adds its element to the one total in global memory
// shared_privatised  the block adds into a total of its own in shared memory, then sends one global add
// block_tree         the block's 256 values fold in eight halving steps instead of queueing at a shared word
// warp_shuffle       warps fold in registers; shared memory carries one value a warp
// grid_stride        a thread adds many elements in a register first, so there are few blocks and few global adds
// vectorised         16-byte loads, four in flight a thread; a single block needs no atomic at all
// two_pass           blocks store their partials and a second launch adds them: no atomics, one order, one result
//
// Reference:
//   total = 0 (double, with Kahan's compensation)
//   for i in 0 .. n:
//       total += in[i]
//   return total rounded to float
//
// All versions: 256 threads a block, any n from 0 up, `*total` is 0 before the launch.
// Every atomic here is relaxed, at device scope: the host reads the total after the launch has ended.
#include "common.cuh"

constexpr u32 block_size = 256;
constexpr u32 warps_a_block = block_size / warp_size;

// Changed: the starting point.
// Why:     the shortest program that is right.
// Expect:  n adds queue at one address; time follows n, not the number of SMs.
// ANCHOR: global_atomic
extern "C" __global__ void global_atomic(const float* in, float* total, u64 n) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    if (i < n) {
        atomicAdd(total, in[i]);
    }
}
// ANCHOR_END: global_atomic

// Changed: the threads of a block add into a shared word; one of them adds that word to the total.
// Why:     global adds fall from one a thread to one a block.
// Expect:  the queue moves on chip: shorter trips, but still 256 adds to one word.
// ANCHOR: shared_privatised
extern "C" __global__ void shared_privatised(const float* in, float* total, u64 n) {
    __shared__ float block_total;
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    if (threadIdx.x == 0) {
        block_total = 0.0f;
    }
    __syncthreads();
    if (i < n) {
        atomicAdd(&block_total, in[i]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(total, block_total);
    }
}
// ANCHOR_END: shared_privatised

// Changed: the block folds its values pairwise, half as many threads at each step.
// Why:     eight steps of independent adds replace 256 adds that take turns.
// Expect:  the same global adds as shared_privatised; no queue inside the block.
// ANCHOR: block_tree
extern "C" __global__ void block_tree(const float* in, float* total, u64 n) {
    __shared__ float value[block_size];
    const u32 t = threadIdx.x;
    const u64 i = u64(blockIdx.x) * block_size + t;
    value[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (u32 width = block_size / 2; width > 0; width /= 2) {
        if (t < width) {
            value[t] += value[t + width];
        }
        __syncthreads();
    }
    if (t == 0) {
        atomicAdd(total, value[0]);
    }
}
// ANCHOR_END: block_tree

// Changed: a warp folds its 32 values with shuffles; the first warp folds the eight warp sums.
// Why:     lanes exchange registers without a barrier; one barrier is left of nine.
// Expect:  the same global adds; less time inside the block.
// ANCHOR: warp_shuffle
extern "C" __global__ void warp_shuffle(const float* in, float* total, u64 n) {
    __shared__ float warp_sum[warps_a_block];
    const u32 t = threadIdx.x;
    const u32 lane = t % warp_size;
    const u64 i = u64(blockIdx.x) * block_size + t;
    float sum = i < n ? in[i] : 0.0f;
    for (u32 width = warp_size / 2; width > 0; width /= 2) {
        sum += __shfl_down_sync(full_warp, sum, width);
    }
    if (lane == 0) {
        warp_sum[t / warp_size] = sum;
    }
    __syncthreads();
    if (t < warp_size) {
        sum = lane < warps_a_block ? warp_sum[lane] : 0.0f;
        for (u32 width = warps_a_block / 2; width > 0; width /= 2) {
            sum += __shfl_down_sync(full_warp, sum, width);
        }
        if (lane == 0) {
            atomicAdd(total, sum);
        }
    }
}
// ANCHOR_END: warp_shuffle

// Changed: the grid is as large as the GPU, not as the input; a thread first adds its share in a register.
// Why:     global adds fall from one a block of 256 elements to one a resident block.
// Expect:  past the size where the grid stops growing, the number of global adds stays the same.
// ANCHOR: grid_stride
extern "C" __global__ void grid_stride(const float* in, float* total, u64 n) {
    __shared__ float warp_sum[warps_a_block];
    const u32 t = threadIdx.x;
    const u32 lane = t % warp_size;
    const u64 stride = u64(gridDim.x) * block_size;
    float sum = 0.0f;
    for (u64 i = u64(blockIdx.x) * block_size + t; i < n; i += stride) {
        sum += in[i];
    }
    for (u32 width = warp_size / 2; width > 0; width /= 2) {
        sum += __shfl_down_sync(full_warp, sum, width);
    }
    if (lane == 0) {
        warp_sum[t / warp_size] = sum;
    }
    __syncthreads();
    if (t < warp_size) {
        sum = lane < warps_a_block ? warp_sum[lane] : 0.0f;
        for (u32 width = warps_a_block / 2; width > 0; width /= 2) {
            sum += __shfl_down_sync(full_warp, sum, width);
        }
        if (lane == 0) {
            atomicAdd(total, sum);
        }
    }
}
// ANCHOR_END: grid_stride

// ANCHOR: vectorised
// A thread's share of the input by 16-byte loads, four in flight; the n % 4 last elements go to the first threads.
// `in` is aligned to 16 bytes.
static __device__ __forceinline__ float thread_share(const float* in, u64 n) {
    const float4* quad = reinterpret_cast<const float4*>(in);
    const u64 quads = n / 4;
    const u64 stride = u64(gridDim.x) * block_size;
    const u64 first = u64(blockIdx.x) * block_size + threadIdx.x;
    float sum = first < n % 4 ? in[quads * 4 + first] : 0.0f;
    u64 q = first;
    for (; q + 3 * stride < quads; q += 4 * stride) {
        const float4 a = quad[q];
        const float4 b = quad[q + stride];
        const float4 c = quad[q + 2 * stride];
        const float4 d = quad[q + 3 * stride];
        sum += ((a.x + a.y) + (a.z + a.w)) + ((b.x + b.y) + (b.z + b.w));
        sum += ((c.x + c.y) + (c.z + c.w)) + ((d.x + d.y) + (d.z + d.w));
    }
    for (; q < quads; q += stride) {
        const float4 a = quad[q];
        sum += (a.x + a.y) + (a.z + a.w);
    }
    return sum;
}

// The block's sum of `sum`, valid in thread 0: warp tree, shared array, warp tree.
static __device__ __forceinline__ float block_sum(float sum) {
    __shared__ float warp_sum[warps_a_block];
    const u32 lane = threadIdx.x % warp_size;
    for (u32 width = warp_size / 2; width > 0; width /= 2) {
        sum += __shfl_down_sync(full_warp, sum, width);
    }
    if (lane == 0) {
        warp_sum[threadIdx.x / warp_size] = sum;
    }
    __syncthreads();
    if (threadIdx.x < warp_size) {
        sum = lane < warps_a_block ? warp_sum[lane] : 0.0f;
        for (u32 width = warps_a_block / 2; width > 0; width /= 2) {
            sum += __shfl_down_sync(full_warp, sum, width);
        }
    }
    return sum;
}

// Changed: a load brings 16 bytes, and four of them are under way before the first is used.
// Why:     the queue at the total is gone; what is left is waiting for memory.
// Expect:  as fast as memory can be read. One block alone stores its sum: nobody to contend with.
extern "C" __global__ void vectorised(const float* in, float* total, u64 n) {
    const float sum = block_sum(thread_share(in, n));
    if (threadIdx.x == 0) {
        if (gridDim.x == 1) {
            *total = sum;
        } else {
            atomicAdd(total, sum);
        }
    }
}
// ANCHOR_END: vectorised

// Changed: a block stores its sum in a slot of its own; a second launch of one block adds the slots.
// Why:     no order is left to chance: the same grid adds the same values in the same order each time.
// Expect:  the same bits in every run, for the price of a second launch.
// ANCHOR: two_pass
extern "C" __global__ void two_pass_partials(const float* in, float* partial, u64 n) {
    const float sum = block_sum(thread_share(in, n));
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
    }
}

extern "C" __global__ void two_pass_total(const float* partial, float* total, u32 partials) {
    float sum = 0.0f;
    for (u32 i = threadIdx.x; i < partials; i += block_size) {
        sum += partial[i];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        *total = sum;
    }
}
// ANCHOR_END: two_pass
