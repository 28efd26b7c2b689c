// Question: when may a thread read what other threads have added?
//
// atomic_only           threads add into a shared word, and thread 0 reads it: WRONG
// late_reader           the last thread of the block reads it instead: WRONG, for others than before
// slots                 no atomic either: every thread stores into a slot, and thread 0 adds the slots: WRONG
// warp_barrier          atomic_only with a barrier of the reader's warp: WRONG, there are eight warps
// block_barrier         atomic_only with a barrier of the whole block
// warp_totals           a word for each warp, read by a lane of that warp: there its barrier is enough
// last_block_relaxed    the block that draws the last ticket adds the blocks' sums: WRONG, a ticket orders nothing
// last_block_released   a fence before the ticket is drawn: WRONG, half of a pair
// last_block_narrow     fences on both sides, at block scope: WRONG, the others are other blocks
// last_block_fenced     fences on both sides, at device scope
// last_block_acq_rel    the ticket itself releases and acquires
//
// Reference:
//   for each block: sum[block] = sum of in[i] over its 256 elements, modulo 2^32
//   last_block_*:   *total = sum of all in[i], modulo 2^32
//
// All versions: 256 threads a block, an element a thread, any n; sum[], *ticket and *total are 0 before the launch.
// Every atomic here is relaxed unless it says otherwise; those on shared memory concern one block, the others the device.
#include "common.cuh"

constexpr u32 block_size = 256;
constexpr u32 warps_a_block = block_size / warp_size;

static __device__ __forceinline__ u32 element(const u32* in, u64 n) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    return i < n ? in[i] : 0;
}

// ANCHOR: zeroed
// A shared word that every thread of the block sees as 0: for that there is a barrier in every version.
static __device__ __forceinline__ void zero(u32& word) {
    if (threadIdx.x == 0) {
        word = 0;
    }
    __syncthreads();
}
// ANCHOR_END: zeroed

// Changed: the starting point. WRONG.
// Why:     no add is lost, and so it looks complete.
// Expect:  thread 0 reads after its own add, whatever the other 255 have done by then.
// ANCHOR: atomic_only
extern "C" __global__ void atomic_only(const u32* in, u32* sum, u64 n) {
    __shared__ u32 block_total;
    const u32 value = element(in, n);
    zero(block_total);
    atomicAdd(&block_total, value);
    if (threadIdx.x == 0) {
        sum[blockIdx.x] = block_total;
    }
}
// ANCHOR_END: atomic_only

// Changed: who reads: the last thread. WRONG.
// Why:     the last warp should come last, and find the others' adds done.
// Expect:  wrong in other blocks. Which warp runs when is the scheduler's business, and no test of results settles it.
// ANCHOR: late_reader
extern "C" __global__ void late_reader(const u32* in, u32* sum, u64 n) {
    __shared__ u32 block_total;
    const u32 value = element(in, n);
    zero(block_total);
    atomicAdd(&block_total, value);
    if (threadIdx.x == block_size - 1) {
        sum[blockIdx.x] = block_total;
    }
}
// ANCHOR_END: late_reader

// Changed: from atomic_only, no atomic: a slot for each thread. WRONG.
// Why:     nobody else writes a slot, so nothing can be lost.
// Expect:  the same mistake. An atomic was never what was missing.
// ANCHOR: slots
extern "C" __global__ void slots(const u32* in, u32* sum, u64 n) {
    __shared__ u32 slot[block_size];
    const u32 value = element(in, n);
    slot[threadIdx.x] = 0;
    __syncthreads();
    slot[threadIdx.x] = value;
    if (threadIdx.x == 0) {
        u32 total = 0;
        for (u32 t = 0; t < block_size; ++t) {
            total += slot[t];
        }
        sum[blockIdx.x] = total;
    }
}
// ANCHOR_END: slots

// Changed: from atomic_only, one line: a barrier of the warp. WRONG.
// Why:     it is cheaper than one of the block.
// Expect:  the adds of 32 threads are there for certain; seven other warps were not waited for.
// ANCHOR: warp_barrier
extern "C" __global__ void warp_barrier(const u32* in, u32* sum, u64 n) {
    __shared__ u32 block_total;
    const u32 value = element(in, n);
    zero(block_total);
    atomicAdd(&block_total, value);
    __syncwarp();
    if (threadIdx.x == 0) {
        sum[blockIdx.x] = block_total;
    }
}
// ANCHOR_END: warp_barrier

// Changed: from warp_barrier, the barrier: all threads of the block.
// Why:     whoever has passed it knows that all have arrived, and sees what each did before.
// Expect:  right, always.
// ANCHOR: block_barrier
extern "C" __global__ void block_barrier(const u32* in, u32* sum, u64 n) {
    __shared__ u32 block_total;
    const u32 value = element(in, n);
    zero(block_total);
    atomicAdd(&block_total, value);
    __syncthreads();
    if (threadIdx.x == 0) {
        sum[blockIdx.x] = block_total;
    }
}
// ANCHOR_END: block_barrier

// Changed: from warp_barrier, a word for each warp. A lane of the same warp reads it and sends it on.
// Why:     a barrier has to join those who write and those who read, and no others.
// Expect:  right: the eight sums meet in an add that nobody reads before the launch has ended.
// ANCHOR: warp_totals
extern "C" __global__ void warp_totals(const u32* in, u32* sum, u64 n) {
    __shared__ u32 warp_total[warps_a_block];
    u32& mine = warp_total[threadIdx.x / warp_size];
    const u32 value = element(in, n);
    if (threadIdx.x % warp_size == 0) {
        mine = 0;
    }
    __syncwarp();
    atomicAdd(&mine, value);
    __syncwarp();
    if (threadIdx.x % warp_size == 0) {
        atomicAdd(sum + blockIdx.x, mine);
    }
}
// ANCHOR_END: warp_totals

// ANCHOR: block_sum
// The block's sum, in every thread: block_barrier, and a barrier more, so that the word may be used again.
static __device__ __forceinline__ u32 block_sum(u32 value) {
    __shared__ u32 block_total;
    zero(block_total);
    atomicAdd(&block_total, value);
    __syncthreads();
    const u32 total = block_total;
    __syncthreads();
    return total;
}

// What the block with the last ticket does: adds the sums of all blocks.
static __device__ __forceinline__ void finish(const u32* sum, u32* total) {
    u32 mine = 0;
    for (u32 block = threadIdx.x; block < gridDim.x; block += block_size) {
        mine += sum[block];
    }
    mine = block_sum(mine);
    if (threadIdx.x == 0) {
        *total = mine;
    }
}
// ANCHOR_END: block_sum

// Changed: from block_barrier, one block goes on: the one with the last ticket adds the sums of all.
// Why:     there is no barrier between blocks, but whoever comes last knows that all have come. WRONG: come, not written.
// Expect:  another block's sum may still be under way, or an older value be read.
// ANCHOR: last_block_relaxed
extern "C" __global__ void last_block_relaxed(const u32* in, u32* sum, u64 n, u32* ticket, u32* total) {
    __shared__ bool last;
    const u32 mine = block_sum(element(in, n));
    if (threadIdx.x == 0) {
        sum[blockIdx.x] = mine;
        last = atomicAdd(ticket, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        finish(sum, total);
    }
}
// ANCHOR_END: last_block_relaxed

// Changed: a fence between the sum and the ticket.
// Why:     the sum is then written before the ticket is drawn. WRONG: the reader of the tickets has to do its part.
// Expect:  a block may read a sum before it draws its own ticket, as far as anybody promises.
// ANCHOR: last_block_released
extern "C" __global__ void last_block_released(const u32* in, u32* sum, u64 n, u32* ticket, u32* total) {
    __shared__ bool last;
    const u32 mine = block_sum(element(in, n));
    if (threadIdx.x == 0) {
        sum[blockIdx.x] = mine;
        __threadfence();
        last = atomicAdd(ticket, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        finish(sum, total);
    }
}
// ANCHOR_END: last_block_released

// Changed: both fences, at block scope. WRONG.
// Why:     they are cheap.
// Expect:  order for the threads of the own block, who had it from the barriers already.
// ANCHOR: last_block_narrow
extern "C" __global__ void last_block_narrow(const u32* in, u32* sum, u64 n, u32* ticket, u32* total) {
    __shared__ bool last;
    const u32 mine = block_sum(element(in, n));
    if (threadIdx.x == 0) {
        sum[blockIdx.x] = mine;
        __threadfence_block();
        last = atomicAdd(ticket, 1u) == gridDim.x - 1;
        __threadfence_block();
    }
    __syncthreads();
    if (last) {
        finish(sum, total);
    }
}
// ANCHOR_END: last_block_narrow

// Changed: both fences at device scope.
// Why:     the first puts the sum before the ticket, the second the tickets of the others before their sums are read.
// Expect:  right, always; the barrier after it hands to the whole block what thread 0 has acquired.
// ANCHOR: last_block_fenced
extern "C" __global__ void last_block_fenced(const u32* in, u32* sum, u64 n, u32* ticket, u32* total) {
    __shared__ bool last;
    const u32 mine = block_sum(element(in, n));
    if (threadIdx.x == 0) {
        sum[blockIdx.x] = mine;
        __threadfence();
        last = atomicAdd(ticket, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last) {
        finish(sum, total);
    }
}
// ANCHOR_END: last_block_fenced

// Changed: no fences: the ticket is drawn by an atomic of order acq_rel, at device scope.
// Why:     the order belongs to the ticket, so it is said where the ticket is drawn.
// Expect:  right, always.
// ANCHOR: last_block_acq_rel
static __device__ __forceinline__ u32 draw(u32* ticket) {
    u32 drawn;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
                 : "=r"(drawn)
                 : "l"(__cvta_generic_to_global(ticket))
                 : "memory");
    return drawn;
}

extern "C" __global__ void last_block_acq_rel(const u32* in, u32* sum, u64 n, u32* ticket, u32* total) {
    __shared__ bool last;
    const u32 mine = block_sum(element(in, n));
    if (threadIdx.x == 0) {
        sum[blockIdx.x] = mine;
        last = draw(ticket) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        finish(sum, total);
    }
}
// ANCHOR_END: last_block_acq_rel
