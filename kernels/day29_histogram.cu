// Question: how long does it take to count bytes into 256 bins, and do the bytes decide it?
//
// global_atomic    every byte is an add to its bin in global memory
// padded_bins      each bin has a 128-byte line of its own
// block_private    a block counts in bins of its own in shared memory, then sends one global add a bin
// warp_aggregated  lanes with the same byte elect one that adds for all
// wide_loads       block_private with 16 bytes a load, at any alignment and length
// warp_copies      each warp of the block has bins of its own
// merged_runs      a thread adds a run of equal bytes at once
// lane_columns     each lane has bins of its own, all in its own bank; 16 equal bytes are one add
//
// Reference:
//   bins[0 .. 256] = 0
//   for i in 0 .. n:
//       bins[in[i]] += 1
//
// All versions: any n below 2^32, any alignment of `in`, bins are 0 before the launch.
// Every atomic here is relaxed. Those on global memory are at device scope: the host reads the bins after the launch
// has ended. Those on shared memory are read by the same block after __syncthreads().
#include "common.cuh"

using u8 = unsigned char;

constexpr u32 block_size = 256;
constexpr u32 bin_count = 256;  // one a value of a byte, and one a thread of a block
constexpr u32 warps_a_block = block_size / warp_size;

// Changed: the starting point.
// Why:     the shortest program that is right.
// Expect:  n adds queue at 256 words. One repeated byte makes one queue of them all.
// ANCHOR: global_atomic
extern "C" __global__ void global_atomic(const u8* in, u32* bins, u64 n) {
    const u64 stride = u64(gridDim.x) * block_size;
    for (u64 i = u64(blockIdx.x) * block_size + threadIdx.x; i < n; i += stride) {
        atomicAdd(&bins[in[i]], 1);
    }
}
// ANCHOR_END: global_atomic

// Changed: bins are 128 bytes apart; `bins` is 32 times as long.
// Why:     256 words side by side lie in 8 lines, so in at most 8 slices of the L2; now they lie in 256 lines.
// Expect:  faster where the bytes differ; no help where they are all the same.
// ANCHOR: padded_bins
constexpr u32 line_words = 128 / sizeof(u32);

extern "C" __global__ void padded_bins(const u8* in, u32* bins, u64 n) {
    const u64 stride = u64(gridDim.x) * block_size;
    for (u64 i = u64(blockIdx.x) * block_size + threadIdx.x; i < n; i += stride) {
        atomicAdd(&bins[in[i] * line_words], 1);
    }
}
// ANCHOR_END: padded_bins

// Changed: the block counts in shared memory; its threads then add a bin each to global memory.
// Why:     global adds fall from one a byte to 256 a block, whatever the bytes are.
// Expect:  the queues move on chip, one set of them a block; much faster on any input.
// ANCHOR: block_private
extern "C" __global__ void block_private(const u8* in, u32* bins, u64 n) {
    __shared__ u32 count[bin_count];
    count[threadIdx.x] = 0;
    __syncthreads();
    const u64 stride = u64(gridDim.x) * block_size;
    for (u64 i = u64(blockIdx.x) * block_size + threadIdx.x; i < n; i += stride) {
        atomicAdd(&count[in[i]], 1);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], count[threadIdx.x]);
}
// ANCHOR_END: block_private

// Changed: the warp finds out which lanes hold the same byte; the first of them adds for all.
// Why:     no two lanes of a warp add to the same bin.
// Expect:  one add a warp where all bytes are equal; where they differ, the search for equals comes on top.
// ANCHOR: warp_aggregated
extern "C" __global__ void warp_aggregated(const u8* in, u32* bins, u64 n) {
    __shared__ u32 count[bin_count];
    count[threadIdx.x] = 0;
    __syncthreads();
    const u32 lane = threadIdx.x % warp_size;
    const u64 stride = u64(gridDim.x) * block_size;
    // Counted by the warp's first byte, so that all lanes come along to the end.
    for (u64 i = u64(blockIdx.x) * block_size + threadIdx.x; i - lane < n; i += stride) {
        const u32 byte = i < n ? in[i] : bin_count;
        const u32 equals = __match_any_sync(full_warp, byte);
        if (i < n && lane + 1 == __ffs(equals)) {
            atomicAdd(&count[byte], __popc(equals));
        }
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], count[threadIdx.x]);
}
// ANCHOR_END: warp_aggregated

// ANCHOR: wide_loads
// The input as 16-byte quads at a 16-byte boundary, and what is left: up to 15 bytes before them and 15 after.
struct Quads {
    const uint4* at;
    u64 many;
    u64 before;
};

static __device__ __forceinline__ Quads quads_of(const u8* in, u64 n) {
    const u64 to_boundary = (16 - reinterpret_cast<u64>(in) % 16) % 16;
    const u64 before = to_boundary < n ? to_boundary : n;
    return {reinterpret_cast<const uint4*>(in + before), (n - before) / 16, before};
}

// The i-th byte that is in no quad, i below n - 16 * quads.many.
static __device__ __forceinline__ u32 edge_byte(const u8* in, const Quads& quads, u64 i) {
    return in[i < quads.before ? i : 16 * quads.many + i];
}

static __device__ __forceinline__ void add_word(u32* count, u32 word) {
    atomicAdd(&count[word & 255], 1);
    atomicAdd(&count[word >> 8 & 255], 1);
    atomicAdd(&count[word >> 16 & 255], 1);
    atomicAdd(&count[word >> 24], 1);
}

// Changed: a load brings 16 bytes; the bytes that fill no quad go to the first threads of the grid.
// Why:     a load a byte keeps the memory pipe as busy as an add a byte.
// Expect:  an instruction less a byte; the adds in shared memory are what is left.
extern "C" __global__ void wide_loads(const u8* in, u32* bins, u64 n) {
    __shared__ u32 count[bin_count];
    count[threadIdx.x] = 0;
    __syncthreads();
    const Quads quads = quads_of(in, n);
    const u64 stride = u64(gridDim.x) * block_size;
    const u64 first = u64(blockIdx.x) * block_size + threadIdx.x;
    for (u64 q = first; q < quads.many; q += stride) {
        const uint4 quad = quads.at[q];
        add_word(count, quad.x);
        add_word(count, quad.y);
        add_word(count, quad.z);
        add_word(count, quad.w);
    }
    if (first < n - 16 * quads.many) {
        atomicAdd(&count[edge_byte(in, quads, first)], 1);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], count[threadIdx.x]);
}
// ANCHOR_END: wide_loads

// Changed: every warp counts in bins of its own; a thread adds up the copies of its bin.
// Why:     no two warps add to the same word.
// Expect:  little. Shared memory serves one warp at a time anyway: who queues are the lanes of one warp.
// ANCHOR: warp_copies
extern "C" __global__ void warp_copies(const u8* in, u32* bins, u64 n) {
    __shared__ u32 copies[warps_a_block][bin_count];
    for (u32 warp = 0; warp < warps_a_block; ++warp) {
        copies[warp][threadIdx.x] = 0;
    }
    __syncthreads();
    u32* count = copies[threadIdx.x / warp_size];
    const Quads quads = quads_of(in, n);
    const u64 stride = u64(gridDim.x) * block_size;
    const u64 first = u64(blockIdx.x) * block_size + threadIdx.x;
    for (u64 q = first; q < quads.many; q += stride) {
        const uint4 quad = quads.at[q];
        add_word(count, quad.x);
        add_word(count, quad.y);
        add_word(count, quad.z);
        add_word(count, quad.w);
    }
    if (first < n - 16 * quads.many) {
        atomicAdd(&count[edge_byte(in, quads, first)], 1);
    }
    __syncthreads();
    u32 sum = 0;
    for (u32 warp = 0; warp < warps_a_block; ++warp) {
        sum += copies[warp][threadIdx.x];
    }
    atomicAdd(&bins[threadIdx.x], sum);
}
// ANCHOR_END: warp_copies

// Changed: a thread counts equal bytes that follow each other and adds when another byte comes.
// Why:     a run of equal bytes is one add instead of one a byte.
// Expect:  one add a thread where all bytes are equal; a test a byte, and nothing gained, where no two are.
// ANCHOR: merged_runs
extern "C" __global__ void merged_runs(const u8* in, u32* bins, u64 n) {
    __shared__ u32 count[bin_count];
    count[threadIdx.x] = 0;
    __syncthreads();
    const Quads quads = quads_of(in, n);
    const u64 stride = u64(gridDim.x) * block_size;
    const u64 first = u64(blockIdx.x) * block_size + threadIdx.x;
    u32 run_byte = threadIdx.x;  // no run yet: the first add is one of 0, to a bin that no other thread begins with
    u32 run = 0;
    for (u64 q = first; q < quads.many; q += stride) {
        const uint4 quad = quads.at[q];
        const u32 words[4] = {quad.x, quad.y, quad.z, quad.w};
#pragma unroll
        for (u32 i = 0; i < 16; ++i) {
            const u32 byte = words[i / 4] >> i % 4 * 8 & 255;
            if (byte != run_byte) {
                atomicAdd(&count[run_byte], run);
                run_byte = byte;
                run = 0;
            }
            ++run;
        }
    }
    atomicAdd(&count[run_byte], run);
    if (first < n - 16 * quads.many) {
        atomicAdd(&count[edge_byte(in, quads, first)], 1);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], count[threadIdx.x]);
}
// ANCHOR_END: merged_runs

// ANCHOR: lane_columns
constexpr u32 columns_block = 1024;

static __device__ __forceinline__ void add_word_in_column(u32* column, u32 word) {
    atomicAdd(&column[(word & 255) * warp_size], 1);
    atomicAdd(&column[(word >> 8 & 255) * warp_size], 1);
    atomicAdd(&column[(word >> 16 & 255) * warp_size], 1);
    atomicAdd(&column[(word >> 24) * warp_size], 1);
}

static __device__ __forceinline__ void add_quad_in_column(u32* column, uint4 quad) {
    const u32 spread = __byte_perm(quad.x, 0, 0);  // its first byte, four times
    if (((quad.x ^ spread) | (quad.y ^ spread) | (quad.z ^ spread) | (quad.w ^ spread)) == 0) {
        atomicAdd(&column[(quad.x & 255) * warp_size], 16);
        return;
    }
    add_word_in_column(column, quad.x);
    add_word_in_column(column, quad.y);
    add_word_in_column(column, quad.z);
    add_word_in_column(column, quad.w);
}

// Changed: bin b of lane l is word 32 b + l, which is in bank l; two loads are under way, marked as read once; 16 equal
//          bytes are one add.
// Why:     the 32 adds of a warp go to 32 words in 32 banks, whatever the bytes are; and the L2 gives up what is read
//          once before it gives up anything else.
// Expect:  the same time for any mixture of bytes; as fast as memory can be read where runs are long.
extern "C" __global__ void __launch_bounds__(columns_block) lane_columns(const u8* in, u32* bins, u64 n) {
    __shared__ u32 count[bin_count * warp_size];
    for (u32 i = threadIdx.x; i < bin_count * warp_size; i += columns_block) {
        count[i] = 0;
    }
    __syncthreads();
    u32* column = &count[threadIdx.x % warp_size];
    const Quads quads = quads_of(in, n);
    const u64 stride = u64(gridDim.x) * columns_block;
    const u64 first = u64(blockIdx.x) * columns_block + threadIdx.x;
    u64 q = first;
    for (; q + stride < quads.many; q += 2 * stride) {
        const uint4 a = __ldcs(&quads.at[q]);
        const uint4 b = __ldcs(&quads.at[q + stride]);
        add_quad_in_column(column, a);
        add_quad_in_column(column, b);
    }
    if (q < quads.many) {
        add_quad_in_column(column, __ldcs(&quads.at[q]));
    }
    if (first < n - 16 * quads.many) {
        atomicAdd(&column[edge_byte(in, quads, first) * warp_size], 1);
    }
    __syncthreads();
    if (threadIdx.x < bin_count) {
        u32 sum = 0;
        // Each lane begins at a column of its own, so that these reads meet in no bank either.
        for (u32 i = 0; i < warp_size; ++i) {
            sum += count[threadIdx.x * warp_size + (threadIdx.x + i) % warp_size];
        }
        atomicAdd(&bins[threadIdx.x], sum);
    }
}
// ANCHOR_END: lane_columns

// Not a histogram, and what one is held against: as many adds as `quads` have bytes, to words of the lane's own bank
// that are known beforehand. Nothing is loaded.
extern "C" __global__ void __launch_bounds__(columns_block) adds_alone(u32* bins, u64 quads) {
    __shared__ u32 count[bin_count * warp_size];
    for (u32 i = threadIdx.x; i < bin_count * warp_size; i += columns_block) {
        count[i] = 0;
    }
    __syncthreads();
    u32* column = &count[threadIdx.x % warp_size];
    u32* at[16];
#pragma unroll
    for (u32 i = 0; i < 16; ++i) {
        at[i] = &column[(threadIdx.x + 17 * i) % bin_count * warp_size];
    }
    const u64 stride = u64(gridDim.x) * columns_block;
    for (u64 q = u64(blockIdx.x) * columns_block + threadIdx.x; q < quads; q += stride) {
#pragma unroll
        for (u32 i = 0; i < 16; ++i) {
            atomicAdd(at[i], 1);
        }
    }
    __syncthreads();
    if (threadIdx.x < bin_count) {
        u32 sum = 0;
        for (u32 i = 0; i < warp_size; ++i) {
            sum += count[threadIdx.x * warp_size + (threadIdx.x + i) % warp_size];
        }
        atomicAdd(&bins[threadIdx.x], sum);
    }
}
