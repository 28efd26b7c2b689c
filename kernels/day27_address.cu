// Question: how many atomics a second does a GPU carry out when they go to few addresses, and when to many?
//
// uniform_add   the plain counter: every thread adds to one word, and the compiler folds a warp's adds into one
// add_u32       a thread's counter comes from memory: nothing is folded, every lane's add is sent
// max_u32       a maximum in place of the sum
// exchange_u32  the old value comes back
// add_u64       counters of 8 bytes
// add_f32       floats
//
// Reference:
//   for i in 0 .. n:
//       thread, round = i % threads, i / threads
//       counter[(slot[thread] + round * step) % counters] += 1
//
// All versions: 256 threads a block, any grid, any n from 0 up. Counters are 0 before the launch and stand `stride`
// elements apart. Thread t begins at counter slot[t]; `step`, below `counters`, leads to its next one. Which lanes share
// a counter, and how far apart counters are, is data: the host's, not the kernel's.
// Every atomic here is relaxed, at device scope: the host reads the counters after the launch has ended.
#include "common.cuh"

constexpr u32 block_size = 256;

// Changed: the starting point.
// Why:     the shortest way to count; the address is an argument, the same for all threads.
// Expect:  far more adds a second than one address can take. The machine code says why: VOTEU, POPC, one RED a warp.
// ANCHOR: uniform_add
extern "C" __global__ void uniform_add(u32* counter, u64 n) {
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    for (u64 i = thread; i < n; i += threads) {
        atomicAdd(counter, 1u);
    }
}
// ANCHOR_END: uniform_add

// ANCHOR: onward
// The counter `step` places on, in a ring.
static __device__ __forceinline__ u32 onward(u32 place, u32 step, u32 counters) {
    place += step;
    return place < counters ? place : place - counters;
}
// ANCHOR_END: onward

// Changed: which counter is loaded from memory, so the compiler can't know that lanes agree.
// Why:     now the kernel sends what it says: one add a lane.
// Expect:  on one address a slow, steady rate. On many addresses a multiple of it, until something else is full.
// ANCHOR: add_u32
extern "C" __global__ void add_u32(u32* counter, const u32* slot, u32 counters, u32 step, u32 stride, u64 n) {
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    u32 place = slot[thread];
    for (u64 i = thread; i < n; i += threads) {
        atomicAdd(&counter[u64(place) * stride], 1u);
        place = onward(place, step, counters);
    }
}
// ANCHOR_END: add_u32

// Changed: the larger of two values is kept. What a thread offers grows from round to round.
// Why:     a maximum that stands still would leave memory as it is, and that might be cheaper.
// Expect:  the rate of an add: the same trip, the same word, another operation at its end.
// ANCHOR: max_u32
extern "C" __global__ void max_u32(u32* counter, const u32* slot, u32 counters, u32 step, u32 stride, u64 n) {
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    u32 place = slot[thread];
    for (u64 i = thread; i < n; i += threads) {
        atomicMax(&counter[u64(place) * stride], u32(i) + 1);
        place = onward(place, step, counters);
    }
}
// ANCHOR_END: max_u32

// Changed: the new value replaces the old one, which comes back. A thread adds up what it took.
// Why:     what was put in must be what was taken out and what is left: nothing lost, nothing twice.
// Expect:  there is no exchange without a reply, so every lane's operation sends one back.
// ANCHOR: exchange_u32
extern "C" __global__ void exchange_u32(u32* counter, const u32* slot, u32 counters, u32 step, u32 stride, u64 n,
                                        u64* taken) {
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    u32 place = slot[thread];
    u64 sum = 0;
    for (u64 i = thread; i < n; i += threads) {
        sum += atomicExch(&counter[u64(place) * stride], u32(i) + 1);
        place = onward(place, step, counters);
    }
    taken[thread] = sum;
}
// ANCHOR_END: exchange_u32

// Changed: counters of 8 bytes.
// Why:     half as many fit a sector.
// Expect:  the rate of add_u32 while each counter has a sector of its own.
// ANCHOR: add_u64
extern "C" __global__ void add_u64(u64* counter, const u32* slot, u32 counters, u32 step, u32 stride, u64 n) {
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    u32 place = slot[thread];
    for (u64 i = thread; i < n; i += threads) {
        atomicAdd(&counter[u64(place) * stride], 1ull);
        place = onward(place, step, counters);
    }
}
// ANCHOR_END: add_u64

// Changed: floats. Exact while no counter passes 2^24.
// Why:     a float add takes longer than an integer one, and the next add to the word waits for it.
// Expect:  a lower rate on one address; on many, adds to different words overlap and the difference goes.
// ANCHOR: add_f32
extern "C" __global__ void add_f32(float* counter, const u32* slot, u32 counters, u32 step, u32 stride, u64 n) {
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    u32 place = slot[thread];
    for (u64 i = thread; i < n; i += threads) {
        atomicAdd(&counter[u64(place) * stride], 1.0f);
        place = onward(place, step, counters);
    }
}
// ANCHOR_END: add_f32

// ANCHOR: max_u32_changed
// max_u32 once more, not timed: a thread counts how often what it offered was the larger, so that memory changed.
extern "C" __global__ void max_u32_changed(u32* counter, const u32* slot, u32 counters, u32 step, u32 stride, u64 n,
                                           u64* changed) {
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    u32 place = slot[thread];
    u64 count = 0;
    for (u64 i = thread; i < n; i += threads) {
        const u32 offer = u32(i) + 1;
        count += atomicMax(&counter[u64(place) * stride], offer) < offer ? 1 : 0;
        place = onward(place, step, counters);
    }
    changed[thread] = count;
}
// ANCHOR_END: max_u32_changed

// Not timed: copies counters that stand `stride` words apart side by side, `words` words of each, for the host to check.
extern "C" __global__ void gather(const u32* counter, u32* dense, u64 stride, u32 words, u64 total) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    if (i < total) {
        dense[i] = counter[i / words * stride + i % words];
    }
}
