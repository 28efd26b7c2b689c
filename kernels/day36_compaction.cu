// Question: what does it cost to give every kept element a slot of its own?
//
// per_element           a kept element adds 1 to the counter; the old value, which comes back, is its slot
// reread_counter        wrong: adds 1, then looks at the counter for its slot
// per_element_unfolded  the counter's address comes from memory, so the compiler cannot fold a warp's adds
// per_warp              a warp's lanes take their slots with one add: ballot, leader, shuffle
// per_block             a block's threads take theirs with one add: counts of the warps, scanned in shared memory
// per_block_vectorised  16-byte loads, 16 elements a thread: one add for 4,096 elements
// ordered_scan          counts, their scan, a second reading: the input's order is kept, and no atomic is left
// bounded_queue         per_block into a queue that may be full: what finds no slot is counted, not lost
//
// Reference:
//   count = 0
//   for i in 0 .. n:
//       if in[i] < limit:
//           out[count] = in[i]; count += 1
//   any order of out is right, but for ordered_scan, which keeps the input's
//
// All versions: 256 threads a block, any n from 0 to 2^31, `*count` (`*tail`) is 0 before the launch, `out` has room for
// all that is kept, and no element is `nothing`. At the end of the file stands the check: every slot holds a kept
// element, and no two the same.
// Every atomic here is relaxed, at device scope: the slots are read after the launch has ended.
#include "common.cuh"

constexpr u32 block_size = 256;
constexpr u32 warps_a_block = block_size / warp_size;
constexpr u32 nothing = 0xffffffffu;  // no element has this value, and no limit is above it

// Changed: the starting point.
// Why:     an atomic add hands every thread another old value: a ticket.
// Expect:  one add a kept element in the source; read the machine code before you believe it.
// ANCHOR: per_element
extern "C" __global__ void per_element(const u32* in, u32* out, u32* count, u64 n, u32 limit) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    const u32 value = i < n ? in[i] : nothing;
    if (value < limit) {
        const u32 slot = atomicAdd(count, 1u);
        out[slot] = value;
    }
}
// ANCHOR_END: per_element

// Changed: the slot is read from the counter after the add.
// Why:     it looks the same. It is not: others add between this thread's add and its load.
// Expect:  the count is right, the slots are not. The check refuses it.
// ANCHOR: reread_counter
extern "C" __global__ void reread_counter(const u32* in, u32* out, u32* count, u64 n, u32 limit) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    const u32 value = i < n ? in[i] : nothing;
    if (value < limit) {
        atomicAdd(count, 1u);
        const u32 slot = *count - 1;
        out[slot] = value;
    }
}
// ANCHOR_END: reread_counter

// Changed: each lane loads the counter's place from a table; all its entries are 0, which the compiler cannot know.
// Why:     lanes that may have different addresses cannot be folded.
// Expect:  as many adds at the counter as elements are kept; time follows their number.
// ANCHOR: per_element_unfolded
extern "C" __global__ void per_element_unfolded(const u32* in, u32* out, u32* count, const u32* place, u64 n,
                                                u32 limit) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    const u32 value = i < n ? in[i] : nothing;
    if (value < limit) {
        const u32 slot = atomicAdd(count + place[threadIdx.x % warp_size], 1u);
        out[slot] = value;
    }
}
// ANCHOR_END: per_element_unfolded

// Changed: the warp counts its kept elements by a ballot, and its first lane takes that many tickets at once.
// Why:     a lane finds its own slot among them by counting the lanes below it: no message.
// Expect:  one add a warp.
// ANCHOR: per_warp
extern "C" __global__ void per_warp(const u32* in, u32* out, u32* count, u64 n, u32 limit) {
    const u32 lane = threadIdx.x % warp_size;
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    const u32 value = i < n ? in[i] : nothing;
    const u32 kept = __ballot_sync(full_warp, value < limit);
    u32 slot = 0;
    if (lane == 0 && kept != 0) {
        slot = atomicAdd(count, __popc(kept));
    }
    slot = __shfl_sync(full_warp, slot, 0);
    if (value < limit) {
        out[slot + __popc(kept & ((1u << lane) - 1))] = value;
    }
}
// ANCHOR_END: per_warp

// ANCHOR: per_block
// How many elements the warps before this one keep; `*all` becomes the block's number. `kept` is this warp's.
static __device__ __forceinline__ u32 kept_before(u32 kept, u32* all) {
    __shared__ u32 warp_kept[warps_a_block];
    const u32 warp = threadIdx.x / warp_size;
    if (threadIdx.x % warp_size == 0) {
        warp_kept[warp] = kept;
    }
    __syncthreads();
    u32 before = 0;
    *all = 0;
    for (u32 other = 0; other < warps_a_block; ++other) {
        before += other < warp ? warp_kept[other] : 0;
        *all += warp_kept[other];
    }
    return before;
}

// The first slot of this warp: one add a block that keeps anything.
template <typename Count>
static __device__ __forceinline__ Count take_slots(Count* count, u32 kept) {
    __shared__ Count first;
    u32 all;
    const u32 before = kept_before(kept, &all);
    if (threadIdx.x == 0 && all != 0) {
        first = atomicAdd(count, Count(all));
    }
    __syncthreads();
    return first + before;
}

// Changed: the warps' counts meet in shared memory, and one thread takes the tickets of the whole block.
// Why:     the queue at the counter gets shorter by the number of warps in a block.
// Expect:  one add a block, and two barriers.
extern "C" __global__ void per_block(const u32* in, u32* out, u32* count, u64 n, u32 limit) {
    const u32 lane = threadIdx.x % warp_size;
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    const u32 value = i < n ? in[i] : nothing;
    const u32 kept = __ballot_sync(full_warp, value < limit);
    const u32 slot = take_slots(count, __popc(kept));
    if (value < limit) {
        out[slot + __popc(kept & ((1u << lane) - 1))] = value;
    }
}
// ANCHOR_END: per_block

// ANCHOR: per_block_vectorised
constexpr u32 elements_a_thread = 16;
constexpr u32 warp_elements = warp_size * elements_a_thread;
constexpr u32 tile = block_size * elements_a_thread;

// Ballots of a thread's elements, one for each; returns how many the warp keeps.
static __device__ __forceinline__ u32 ballots(const u32 (&value)[elements_a_thread], u32 limit,
                                              u32 (&kept)[elements_a_thread]) {
    u32 all = 0;
#pragma unroll
    for (u32 e = 0; e < elements_a_thread; ++e) {
        kept[e] = __ballot_sync(full_warp, value[e] < limit);
        all += __popc(kept[e]);
    }
    return all;
}

// Stores what the warp keeps from `slot` on: the first element of each lane, then the second, and so on.
static __device__ __forceinline__ void store_kept(u32* out, u32 slot, const u32 (&value)[elements_a_thread],
                                                  const u32 (&kept)[elements_a_thread]) {
    const u32 lane = threadIdx.x % warp_size;
#pragma unroll
    for (u32 e = 0; e < elements_a_thread; ++e) {
        if (kept[e] >> lane & 1) {
            out[slot + __popc(kept[e] & ((1u << lane) - 1))] = value[e];
        }
        slot += __popc(kept[e]);
    }
}

// Changed: a thread holds 16 elements, which four 16-byte loads bring; each of them has a ballot of its own.
// Why:     16 times fewer adds, and four loads on their way at once. `in` is aligned to 16 bytes.
// Expect:  memory decides the time, not the counter.
extern "C" __global__ void per_block_vectorised(const u32* in, u32* out, u32* count, u64 n, u32 limit) {
    const u64 first = u64(blockIdx.x) * tile + threadIdx.x / warp_size * warp_elements;
    u32 value[elements_a_thread];
#pragma unroll
    for (u32 e = 0; e < elements_a_thread; e += 4) {
        const u64 i = first + (e / 4 * warp_size + threadIdx.x % warp_size) * 4;
        if (i + 4 <= n) {
            const uint4 quad = *reinterpret_cast<const uint4*>(in + i);
            value[e] = quad.x;
            value[e + 1] = quad.y;
            value[e + 2] = quad.z;
            value[e + 3] = quad.w;
        } else {
            value[e] = i < n ? in[i] : nothing;
            value[e + 1] = i + 1 < n ? in[i + 1] : nothing;
            value[e + 2] = i + 2 < n ? in[i + 2] : nothing;
            value[e + 3] = nothing;
        }
    }
    u32 kept[elements_a_thread];
    const u32 slot = take_slots(count, ballots(value, limit, kept));
    store_kept(out, slot, value, kept);
}
// ANCHOR_END: per_block_vectorised

// ANCHOR: ordered_scan
// A thread's elements by 4-byte loads: a warp's 32 lanes hold 32 neighbours, so its ballots are in the input's order.
static __device__ __forceinline__ void load_in_order(const u32* in, u64 n, u32 (&value)[elements_a_thread]) {
    const u64 first = u64(blockIdx.x) * tile + threadIdx.x / warp_size * warp_elements;
#pragma unroll
    for (u32 e = 0; e < elements_a_thread; ++e) {
        const u64 i = first + e * warp_size + threadIdx.x % warp_size;
        value[e] = i < n ? in[i] : nothing;
    }
}

// Changed: a block only counts; then the counts are scanned; then every block knows its first slot and reads again.
// Why:     a slot follows from the elements before it, not from who came first.
// Expect:  no queue and always the same output, for a second reading and two more launches.
extern "C" __global__ void ordered_counts(const u32* in, u32* counts, u64 n, u32 limit) {
    u32 value[elements_a_thread];
    u32 kept[elements_a_thread];
    u32 all;
    load_in_order(in, n, value);
    kept_before(ballots(value, limit, kept), &all);
    if (threadIdx.x == 0) {
        counts[blockIdx.x] = all;
    }
}

// One block. Turns every count into the sum of the counts before it, and stores the sum of all.
extern "C" __global__ void ordered_offsets(u32* counts, u32* count, u32 blocks) {
    const u32 share = (blocks + block_size - 1) / block_size;
    const u32 first = min(threadIdx.x * share, blocks);
    const u32 end = min(first + share, blocks);
    u32 mine = 0;
    for (u32 i = first; i < end; ++i) {
        mine += counts[i];
    }
    u32 up_to = mine;
    for (u32 distance = 1; distance < warp_size; distance *= 2) {
        const u32 below = __shfl_up_sync(full_warp, up_to, distance);
        up_to += threadIdx.x % warp_size >= distance ? below : 0;
    }
    u32 all;
    u32 offset = kept_before(__shfl_sync(full_warp, up_to, warp_size - 1), &all) + up_to - mine;
    for (u32 i = first; i < end; ++i) {
        const u32 here = counts[i];
        counts[i] = offset;
        offset += here;
    }
    if (threadIdx.x == 0) {
        *count = all;
    }
}

extern "C" __global__ void ordered_scatter(const u32* in, u32* out, const u32* offsets, u64 n, u32 limit) {
    u32 value[elements_a_thread];
    u32 kept[elements_a_thread];
    u32 all;
    load_in_order(in, n, value);
    const u32 slot = offsets[blockIdx.x] + kept_before(ballots(value, limit, kept), &all);
    store_kept(out, slot, value, kept);
}
// ANCHOR_END: ordered_scan

// Changed: from per_block: the tickets have 64 bits, and a ticket from `capacity` on has no slot.
// Why:     a full queue must say so. Tickets are never given back, so `*tail` is what was offered: what is above
//          `capacity` found no slot.
// Expect:  the price of per_block.
// ANCHOR: bounded_queue
extern "C" __global__ void bounded_queue(const u32* in, u32* out, u64* tail, u64 n, u32 limit, u64 capacity) {
    const u32 lane = threadIdx.x % warp_size;
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    const u32 value = i < n ? in[i] : nothing;
    const u32 kept = __ballot_sync(full_warp, value < limit);
    const u64 slot = take_slots(tail, __popc(kept)) + __popc(kept & ((1u << lane) - 1));
    if (value < limit && slot < capacity) {
        out[slot] = value;
    }
}
// ANCHOR_END: bounded_queue

// The check, run after every sample. An element is known by its value: its place in a window of 4,096 in the upper 12
// bits, the window in the lower 20. `seen` has a bit an element, 0 before; `faults` are counts, 0 before.
constexpr u32 stray = 0;         // slots that hold no element; one that was never written holds `nothing`
constexpr u32 repeated = 1;      // slots that hold an element that another slot holds
constexpr u32 overrun = 2;       // slots beyond the last that were written
constexpr u32 out_of_order = 3;  // slots that hold another element than the reference's, where order is asked for
constexpr u32 missing = 4;       // kept elements that no slot holds

static __device__ __forceinline__ u64 number_of(u32 value) {
    return u64(value & 0xfffffu) << 12 | value >> 20;
}

// Takes the values out of the first `slots` slots and leaves `nothing`; the last `slots - stored` must be empty.
extern "C" __global__ void check_slots(u32* out, const u32* reference, u32* seen, u32* faults, u64 elements,
                                       u64 stored, u64 slots, u32 ordered) {
    const u64 slot = u64(blockIdx.x) * block_size + threadIdx.x;
    if (slot >= slots) {
        return;
    }
    const u32 value = out[slot];
    out[slot] = nothing;
    const u64 number = number_of(value);
    if (slot >= stored) {
        if (value != nothing) {
            atomicAdd(&faults[overrun], 1u);
        }
    } else if (number >= elements) {
        atomicAdd(&faults[stray], 1u);
    } else {
        const u32 bit = 1u << number % 32;
        if (atomicOr(&seen[number / 32], bit) & bit) {
            atomicAdd(&faults[repeated], 1u);
        }
        if (ordered != 0 && value != reference[slot]) {
            atomicAdd(&faults[out_of_order], 1u);
        }
    }
}

// After check_slots: counts what it has not seen.
extern "C" __global__ void check_missing(const u32* reference, const u32* seen, u32* faults, u64 slots) {
    const u64 slot = u64(blockIdx.x) * block_size + threadIdx.x;
    if (slot < slots) {
        const u64 number = number_of(reference[slot]);
        if ((seen[number / 32] >> number % 32 & 1) == 0) {
            atomicAdd(&faults[missing], 1u);
        }
    }
}
