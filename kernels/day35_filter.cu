// Question: what does it cost to count the values below a threshold, when every hit adds to one counter?
//
// naive            every thread with a hit adds 1 to the one counter
// naive_unfolded   the same adds, at an address that the compiler cannot prove to be the same in all lanes
// agg              the lanes of a warp that hit elect a leader, which adds their number
// smem             a hit adds to a word of its block; one thread of the block adds that word to the counter
// smem32           the block's word has 32 bits instead of 64
// agg_smem         the warp's leader adds to the block's word
//
// Reference:
//   hits = 0
//   for i in 0 .. n:
//       hits += in[i] < threshold
//   return hits
//
// All versions: 256 threads a block, a thread an element, any n from 0 up, `*counter` is 0 before the launch.
// Every atomic here is relaxed, at device scope: the host reads the counter after the launch has ended.
#include "common.cuh"

constexpr u32 block_size = 256;

// Changed: the starting point.
// Why:     the shortest program that is right.
// Expect:  hits of a warp go to one address with the operand 1, so the compiler sends one add for them all; what
//          queues is warps with a hit, not hits.
// ANCHOR: naive
extern "C" __global__ void naive(const u32* in, u64* counter, u64 n, u32 threshold) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    if (i < n && in[i] < threshold) {
        atomicAdd(counter, 1ull);
    }
}
// ANCHOR_END: naive

// Changed: the counter's address comes from memory, by a load whose own address differs by lane. All 32 offsets are 0.
// Why:     the compiler folds only what it can prove to go to one address.
// Expect:  the same count; every hit is an add of its own in the queue, up to 32 times as many.
// ANCHOR: naive_unfolded
extern "C" __global__ void naive_unfolded(const u32* in, u64* counter, u64 n, u32 threshold, const u32* offset) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    if (i < n && in[i] < threshold) {
        atomicAdd(counter + offset[threadIdx.x % warp_size], 1ull);
    }
}
// ANCHOR_END: naive_unfolded

// Changed: the lanes that hit count themselves; the first of them adds the number.
// Why:     one add for the hits of a warp, whatever the compiler does. cooperative_groups' coalesced_threads() comes to
//          the same: its mask is __activemask(), its size() the __popc() of it.
// Expect:  the adds of `naive` after folding, so its time.
// ANCHOR: agg
extern "C" __global__ void agg(const u32* in, u64* counter, u64 n, u32 threshold) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    if (i < n && in[i] < threshold) {
        const u32 group = __activemask();
        const u32 leader = __ffs(group) - 1;
        if (threadIdx.x % warp_size == leader) {
            atomicAdd(counter, u64(__popc(group)));
        }
    }
}
// ANCHOR_END: agg

// Changed: hits add to a word of the block; its first thread adds that word to the counter, if it is not 0.
// Why:     one global add for the hits of a block of eight warps.
// Expect:  up to eight times fewer adds in the queue than `naive` has, for two barriers and adds in shared memory.
// ANCHOR: smem
extern "C" __global__ void smem(const u32* in, u64* counter, u64 n, u32 threshold) {
    __shared__ u64 block_hits;
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    if (threadIdx.x == 0) {
        block_hits = 0;
    }
    __syncthreads();
    if (i < n && in[i] < threshold) {
        atomicAdd(&block_hits, 1ull);
    }
    __syncthreads();
    if (threadIdx.x == 0 && block_hits != 0) {
        atomicAdd(counter, block_hits);
    }
}
// ANCHOR_END: smem

// Changed: the block's word has 32 bits.
// Why:     shared memory adds 32-bit integers in one instruction; a 64-bit add there is a compare-and-swap loop.
// Expect:  the same global adds as `smem`; less time in the block, if that shows beside the queue.
// ANCHOR: smem32
extern "C" __global__ void smem32(const u32* in, u64* counter, u64 n, u32 threshold) {
    __shared__ u32 block_hits;
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    if (threadIdx.x == 0) {
        block_hits = 0;
    }
    __syncthreads();
    if (i < n && in[i] < threshold) {
        atomicAdd(&block_hits, 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0 && block_hits != 0) {
        atomicAdd(counter, u64(block_hits));
    }
}
// ANCHOR_END: smem32

// Changed: against `smem`, the warp's leader adds the number of its hits to the block's 64-bit word.
// Why:     at most eight adds reach the word of a block, whatever the compiler does.
// Expect:  the time of `smem`, if the compiler folds the adds of `smem` as well.
// ANCHOR: agg_smem
extern "C" __global__ void agg_smem(const u32* in, u64* counter, u64 n, u32 threshold) {
    __shared__ u64 block_hits;
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    if (threadIdx.x == 0) {
        block_hits = 0;
    }
    __syncthreads();
    if (i < n && in[i] < threshold) {
        const u32 group = __activemask();
        const u32 leader = __ffs(group) - 1;
        if (threadIdx.x % warp_size == leader) {
            atomicAdd(&block_hits, u64(__popc(group)));
        }
    }
    __syncthreads();
    if (threadIdx.x == 0 && block_hits != 0) {
        atomicAdd(counter, block_hits);
    }
}
// ANCHOR_END: agg_smem
