// Question: does the same sum give the same bits twice, and what does it cost to see to it?
//
// global_atomic      every thread adds its element to the one total, in whatever order they arrive
// shared_privatised  the block adds into a word of its own, in any order, then sends one global add
// block_tree         the block folds in a fixed order; only the blocks' sums arrive in any order
// grid_stride        at most 1,024 blocks, a thread adds many elements first: fewer sums to be put in order
// two_pass           the blocks' sums are stored, and a second launch adds them: every order is fixed
// fixed_point        the blocks' sums are integers, and the order of integer adds does not show
// compensated        what each add rounds away is kept and added at the end of the block
//
// Reference:
//   total = 0 (double)
//   for i in 0 .. n:
//       total += in[i]
//   return total rounded to float
//
// All versions: 256 threads a block, any n from 0 up, `*total` is 0 before the launch. The first three are day 26's.
// Every atomic here is relaxed, at device scope: the host reads the total after the launch has ended.
#include "common.cuh"

using i64 = long long;

constexpr u32 block_size = 256;
constexpr u32 warps_a_block = block_size / warp_size;

// Changed: the starting point.
// Why:     the shortest program that is right.
// Expect:  n roundings in an order that nobody chose: other last bits in each run.
// ANCHOR: global_atomic
extern "C" __global__ void global_atomic(const float* in, float* total, u64 n) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    if (i < n) {
        atomicAdd(total, in[i]);
    }
}
// ANCHOR_END: global_atomic

// Changed: the threads of a block add into a shared word; one of them adds that word to the total.
// Why:     the total sees one add for 256.
// Expect:  two orders are open, the threads' and the blocks'; the sums in a block are small and round finely.
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

// Changed: the block folds its values pairwise, always the same pairs.
// Why:     a block's sum has the same bits in every run.
// Expect:  only the order of the blocks is open.
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

// ANCHOR: fold
// Calls `add` with each element of the thread's share, always in the same order: one of the n % 4 last elements,
// then 16-byte loads, four in flight. `in` is aligned to 16 bytes.
template <typename Add>
static __device__ __forceinline__ void for_share(const float* in, u64 n, Add add) {
    const float4* quad = reinterpret_cast<const float4*>(in);
    const u64 quads = n / 4;
    const u64 stride = u64(gridDim.x) * block_size;
    const u64 first = u64(blockIdx.x) * block_size + threadIdx.x;
    const auto add_quad = [&](const float4& v) {
        add(v.x);
        add(v.y);
        add(v.z);
        add(v.w);
    };
    if (first < n % 4) {
        add(in[quads * 4 + first]);
    }
    u64 q = first;
    for (; q + 3 * stride < quads; q += 4 * stride) {
        const float4 a = quad[q];
        const float4 b = quad[q + stride];
        const float4 c = quad[q + 2 * stride];
        const float4 d = quad[q + 3 * stride];
        add_quad(a);
        add_quad(b);
        add_quad(c);
        add_quad(d);
    }
    for (; q < quads; q += stride) {
        add_quad(quad[q]);
    }
}

template <typename T>
static __device__ __forceinline__ T shuffle_down(T value, u32 width) {
    return __shfl_down_sync(full_warp, value, width);
}

// The block's sum of `sum`, valid in thread 0, always in the same order: warp tree, shared array, warp tree.
template <typename T>
static __device__ __forceinline__ T block_sum(T sum) {
    __shared__ T warp_sum[warps_a_block];
    const u32 lane = threadIdx.x % warp_size;
    for (u32 width = warp_size / 2; width > 0; width /= 2) {
        sum = sum + shuffle_down(sum, width);
    }
    if (lane == 0) {
        warp_sum[threadIdx.x / warp_size] = sum;
    }
    __syncthreads();
    if (threadIdx.x < warp_size) {
        sum = lane < warps_a_block ? warp_sum[lane] : T{};
        for (u32 width = warps_a_block / 2; width > 0; width /= 2) {
            sum = sum + shuffle_down(sum, width);
        }
    }
    return sum;
}
// ANCHOR_END: fold

// Changed: a thread adds a share of many elements first, so at most 1,024 blocks have a sum to send.
// Why:     the fewer adds at the total, the fewer roundings there.
// Expect:  totals that lie closer together, and still several of them.
// ANCHOR: grid_stride
extern "C" __global__ void grid_stride(const float* in, float* total, u64 n) {
    float sum = 0.0f;
    for_share(in, n, [&](float x) { sum += x; });
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        atomicAdd(total, sum);
    }
}
// ANCHOR_END: grid_stride

// Changed: a block stores its sum in a slot of its own; a second launch of one block adds the slots.
// Why:     the grid depends on n alone, and so does the order of every add.
// Expect:  the same bits in every run and on every GPU, for one launch more.
// ANCHOR: two_pass
extern "C" __global__ void two_pass_partials(const float* in, float* partial, u64 n) {
    float sum = 0.0f;
    for_share(in, n, [&](float x) { sum += x; });
    sum = block_sum(sum);
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

// Changed: grid_stride with integers: an element becomes a whole number of units of 2^-32.
// Why:     an integer add rounds nothing, so no order can show.
// Expect:  one total whatever the order, the grid or the GPU. It is the sum rounded once for each element, by at most
//          half a unit, as long as the elements' magnitudes add up to less than 2^31; past that it wraps.
// ANCHOR: fixed_point
constexpr float units_in_one = 4294967296.0f;  // 2^32: the product is exact, the conversion rounds

extern "C" __global__ void fixed_point(const float* in, u64* total, u64 n) {
    i64 sum = 0;
    for_share(in, n, [&](float x) { sum += __float2ll_rn(x * units_in_one); });
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        atomicAdd(total, u64(sum));
    }
}
// ANCHOR_END: fixed_point

// Changed: grid_stride with pairs: beside the sum stands what its adds have rounded away.
// Why:     a block's sum is then as good as a float can be.
// Expect:  a smaller error in the block; the adds at the total round as before, and in any order.
// ANCHOR: compensated
struct Pair {
    float sum;
    float rest;  // the value is sum + rest
};

// Knuth's two-sum: `sum` is the rounded result, `rest` gains exactly what the rounding took.
static __device__ __forceinline__ Pair operator+(Pair a, Pair b) {
    const float sum = a.sum + b.sum;
    const float part = sum - a.sum;
    const float rounded_away = (a.sum - (sum - part)) + (b.sum - part);
    return {sum, a.rest + b.rest + rounded_away};
}

static __device__ __forceinline__ Pair shuffle_down(Pair value, u32 width) {
    return {shuffle_down(value.sum, width), shuffle_down(value.rest, width)};
}

extern "C" __global__ void compensated(const float* in, float* total, u64 n) {
    Pair sum = {0.0f, 0.0f};
    for_share(in, n, [&](float x) { sum = sum + Pair{x, 0.0f}; });
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        atomicAdd(total, sum.sum + sum.rest);
    }
}
// ANCHOR_END: compensated
