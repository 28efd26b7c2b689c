// needs: sm_80
// Question: which of a warp's atomic adds does the compiler fold into one, and which must you fold yourself?
//
// one                 every thread adds 1 to one counter
// one_loaded          the counter's place is loaded from memory, the same word by all threads
// one_unfolded        it is loaded by each lane from a word of its own, and all those words are equal
// value               every thread adds its element, 32 bits
// value_unfolded      the same at an address that the compiler can't see through
// wide_one            64 bits, one number for all threads
// wide_value          64 bits, every thread its element
// float_value         floats, every thread its element
// two_addresses       half of a warp adds to one counter, half to another; the lane picks the address
// two_branches        the lane picks the instruction instead
// divergent           only threads with an odd element add
// divergent_unfolded  the same at an address that the compiler can't see through
//
// Folded by hand, at addresses or for types that the compiler leaves alone:
// ballot              a vote finds the warp's odd elements, the first of those lanes adds their number
// redux               one instruction adds up 32-bit elements, the first lane adds the sum; sm_80 and up
// wide_by_hand        64-bit elements fold by shuffles
// float_by_hand       floats do
//
// Several bins a warp:
// plain_bins          every lane adds 1 to its bin, in global memory
// match_bins          lanes of one bin find each other; one of them adds their number
// shared_bins         the bins of a block are in shared memory; every lane adds 1
// shared_step         the same, where the 1 is an argument
// shared_match        lanes of one bin find each other first
//
// Reference:
//   for i in 0 .. n:                          # one counter
//       counter += 1, or in[i], or in[i] % 2
//   for i in 0 .. n, round in 0 .. rounds:    # bins
//       count[table of i's warp or block][(bin[i] + round) % bins] += 1
//
// All versions: 256 threads a block, any n from 0 up, counters are 0 before the launch, `place` holds 32 zeros.
// Every atomic here is relaxed, at device scope (in shared memory: the block's): the host reads after the launch.
#include "common.cuh"

constexpr u32 block_size = 256;
constexpr u32 most_bins = 32;

static __device__ __forceinline__ u64 thread_index() { return u64(blockIdx.x) * block_size + threadIdx.x; }

// Changed: the starting point.
// Why:     operand and address are the same in all lanes, and the compiler knows both.
// Expect:  one add a warp is sent, of the number of active lanes.
// ANCHOR: one
extern "C" __global__ void one(u32* counter, u64 n) {
    const u64 i = thread_index();
    if (i < n) {
        atomicAdd(counter, 1u);
    }
}
// ANCHOR_END: one

// Changed: the place of the counter is loaded; all lanes load one word.
// Why:     a first try to hide the address from the compiler.
// Expect:  no change: what is loaded from one address is one value, whatever it is.
// ANCHOR: one_loaded
extern "C" __global__ void one_loaded(u32* counter, u64 n, const u32* place) {
    const u64 i = thread_index();
    if (i < n) {
        atomicAdd(counter + place[0], 1u);
    }
}
// ANCHOR_END: one_loaded

// Changed: each lane loads the place from a word of its own.
// Why:     that all words hold the same is data, which no compiler can know.
// Expect:  every lane's add is sent and takes its own turn: 32 where `one` has one.
// ANCHOR: one_unfolded
extern "C" __global__ void one_unfolded(u32* counter, u64 n, const u32* place) {
    const u64 i = thread_index();
    if (i < n) {
        atomicAdd(counter + place[threadIdx.x % warp_size], 1u);
    }
}
// ANCHOR_END: one_unfolded

// Changed: against `one`, what is added differs by lane.
// Why:     an array sum of integers.
// Expect:  one add a warp still: by REDUX where the GPU has it, before that by shuffles in full warps.
// ANCHOR: value
extern "C" __global__ void value(const u32* in, u32* counter, u64 n) {
    const u64 i = thread_index();
    if (i < n) {
        atomicAdd(counter, in[i]);
    }
}
// ANCHOR_END: value

// Changed: against `value`, the place as in `one_unfolded`.
// Why:     the twin that shows what `value` saves.
// Expect:  every lane's add is sent.
// ANCHOR: value_unfolded
extern "C" __global__ void value_unfolded(const u32* in, u32* counter, u64 n, const u32* place) {
    const u64 i = thread_index();
    if (i < n) {
        atomicAdd(counter + place[threadIdx.x % warp_size], in[i]);
    }
}
// ANCHOR_END: value_unfolded

// Changed: against `one`, 64 bits, and the number is an argument.
// Why:     active lanes times one number is one multiplication, at any width.
// Expect:  one add a warp.
// ANCHOR: wide_one
extern "C" __global__ void wide_one(u64* counter, u64 n, u64 step) {
    const u64 i = thread_index();
    if (i < n) {
        atomicAdd(counter, step);
    }
}
// ANCHOR_END: wide_one

// Changed: what is added differs by lane.
// Why:     there is no REDUX of 64 bits.
// Expect:  every lane's add is sent.
// ANCHOR: wide_value
extern "C" __global__ void wide_value(const u32* in, u64* counter, u64 n) {
    const u64 i = thread_index();
    if (i < n) {
        atomicAdd(counter, u64(in[i]));
    }
}
// ANCHOR_END: wide_value

// Changed: floats.
// Why:     a folded sum would round otherwise, so the compiler may not; not even where all add 1.0f.
// Expect:  every lane's add is sent.
// ANCHOR: float_value
extern "C" __global__ void float_value(const u32* in, float* counter, u64 n) {
    const u64 i = thread_index();
    if (i < n) {
        atomicAdd(counter, float(in[i]));
    }
}
// ANCHOR_END: float_value

// Changed: against `one`, there are two counters, and the lane picks one.
// Why:     each half of a warp has one address, but the instruction has two.
// Expect:  every lane's add is sent.
// ANCHOR: two_addresses
extern "C" __global__ void two_addresses(u32* low, u32* high, u64 n) {
    const u64 i = thread_index();
    if (i < n) {
        atomicAdd(threadIdx.x % warp_size < 16 ? low : high, 1u);
    }
}
// ANCHOR_END: two_addresses

// Changed: a branch in place of a choice of address.
// Why:     each of the two instructions has one address.
// Expect:  two adds a warp.
// ANCHOR: two_branches
extern "C" __global__ void two_branches(u32* low, u32* high, u64 n) {
    const u64 i = thread_index();
    if (i < n) {
        if (threadIdx.x % warp_size < 16) {
            atomicAdd(low, 1u);
        } else {
            atomicAdd(high, 1u);
        }
    }
}
// ANCHOR_END: two_branches

// Changed: against `one`, about half of the lanes add, which ones is data.
// Why:     the vote counts the lanes that are there.
// Expect:  one add a warp.
// ANCHOR: divergent
extern "C" __global__ void divergent(const u32* in, u32* counter, u64 n) {
    const u64 i = thread_index();
    if (i < n && in[i] % 2 == 1) {
        atomicAdd(counter, 1u);
    }
}
// ANCHOR_END: divergent

// Changed: the place as in `one_unfolded`.
// Why:     the twin that shows what `divergent` saves.
// Expect:  an add for every odd element.
// ANCHOR: divergent_unfolded
extern "C" __global__ void divergent_unfolded(const u32* in, u32* counter, u64 n, const u32* place) {
    const u64 i = thread_index();
    if (i < n && in[i] % 2 == 1) {
        atomicAdd(counter + place[threadIdx.x % warp_size], 1u);
    }
}
// ANCHOR_END: divergent_unfolded

// Changed: against `divergent_unfolded`, all lanes vote, and the first with an odd element adds the number of votes.
// Why:     you know that the places are equal; the compiler does not.
// Expect:  the adds of `divergent`, so its time.
// ANCHOR: ballot
extern "C" __global__ void ballot(const u32* in, u32* counter, u64 n, const u32* place) {
    const u64 i = thread_index();
    const u32 lane = threadIdx.x % warp_size;
    const u32 odd = __ballot_sync(full_warp, i < n && in[i] % 2 == 1);
    if (lane == u32(__ffs(odd) - 1)) {
        atomicAdd(counter + place[lane], u32(__popc(odd)));
    }
}
// ANCHOR_END: ballot

#if __CUDA_ARCH__ >= 800
// Changed: against `value_unfolded`, the warp adds up its elements and the first lane adds the sum.
// Why:     __reduce_add_sync is the REDUX that the compiler puts into `value`.
// Expect:  the adds of `value`, so its time.
// ANCHOR: redux
extern "C" __global__ void redux(const u32* in, u32* counter, u64 n, const u32* place) {
    const u64 i = thread_index();
    u32* const target = counter + place[threadIdx.x % warp_size];
    const u32 sum = __reduce_add_sync(full_warp, i < n ? in[i] : 0);
    if (threadIdx.x % warp_size == 0 && i < n) {
        atomicAdd(target, sum);
    }
}
// ANCHOR_END: redux
#endif

// Changed: against `wide_value`, five shuffles bring the warp's sum to its first lane.
// Why:     what the compiler has no instruction for takes five steps.
// Expect:  one add a warp.
// ANCHOR: wide_by_hand
extern "C" __global__ void wide_by_hand(const u32* in, u64* counter, u64 n) {
    const u64 i = thread_index();
    u64 sum = i < n ? in[i] : 0;
    for (u32 width = warp_size / 2; width > 0; width /= 2) {
        sum += __shfl_down_sync(full_warp, sum, width);
    }
    if (threadIdx.x % warp_size == 0 && i < n) {
        atomicAdd(counter, sum);
    }
}
// ANCHOR_END: wide_by_hand

// Changed: against `float_value`, the same five steps.
// Why:     you may choose the order in which floats round; the compiler may not.
// Expect:  one add a warp.
// ANCHOR: float_by_hand
extern "C" __global__ void float_by_hand(const u32* in, float* counter, u64 n) {
    const u64 i = thread_index();
    float sum = i < n ? float(in[i]) : 0.0f;
    for (u32 width = warp_size / 2; width > 0; width /= 2) {
        sum += __shfl_down_sync(full_warp, sum, width);
    }
    if (threadIdx.x % warp_size == 0 && i < n) {
        atomicAdd(counter, sum);
    }
}
// ANCHOR_END: float_by_hand

// The bin after this one, in a ring: a warp keeps as many distinct bins from round to round.
static __device__ __forceinline__ u32 next(u32 bin, u32 bins) { return bin + 1 < bins ? bin + 1 : 0; }

// Changed: a thread adds to bins that come from memory, `rounds` times. A warp's table stands `apart` words after the
//          last warp's: 0 for one table that all share, 32 for one each.
// Why:     the compiler can't know which lanes share a bin.
// Expect:  on few bins long queues of equal lanes; on 32 none.
// ANCHOR: plain_bins
extern "C" __global__ void plain_bins(const u32* bin, u32* count, u64 n, u32 rounds, u32 bins, u32 apart) {
    const u64 i = thread_index();
    if (i >= n) {
        return;
    }
    u32* table = count + i / warp_size * apart;
    u32 mine = bin[i];
#pragma unroll 1
    for (u32 round = 0; round < rounds; ++round) {
        atomicAdd(&table[mine], 1u);
        mine = next(mine, bins);
    }
}
// ANCHOR_END: plain_bins

// Changed: a match gives each lane the mask of those with its bin; the first of them adds their number.
// Why:     one add for each distinct bin of a warp.
// Expect:  what 32 lanes on one bin save, 32 distinct bins don't; the match costs the more, the more bins there are.
// ANCHOR: match_bins
extern "C" __global__ void match_bins(const u32* bin, u32* count, u64 n, u32 rounds, u32 bins, u32 apart) {
    const u64 i = thread_index();
    const u32 there = __ballot_sync(full_warp, i < n);
    if (i >= n) {
        return;
    }
    u32* table = count + i / warp_size * apart;
    u32 mine = bin[i];
#pragma unroll 1
    for (u32 round = 0; round < rounds; ++round) {
        const u32 peers = __match_any_sync(there, mine);
        if (threadIdx.x % warp_size == u32(__ffs(peers) - 1)) {
            atomicAdd(&table[mine], u32(__popc(peers)));
        }
        mine = next(mine, bins);
    }
}
// ANCHOR_END: match_bins

// Changed: against `plain_bins`, the table is the block's, in shared memory; it is stored at the end.
// Why:     adding the constant 1 there has an instruction that folds by itself, whatever the addresses are.
// Expect:  the same time for one bin and for 32.
// ANCHOR: shared_bins
extern "C" __global__ void shared_bins(const u32* bin, u32* count, u64 n, u32 rounds, u32 bins) {
    __shared__ u32 table[most_bins];
    const u64 i = thread_index();
    if (threadIdx.x < most_bins) {
        table[threadIdx.x] = 0;
    }
    __syncthreads();
    if (i < n) {
        u32 mine = bin[i];
#pragma unroll 1
        for (u32 round = 0; round < rounds; ++round) {
            atomicAdd(&table[mine], 1u);
            mine = next(mine, bins);
        }
    }
    __syncthreads();
    if (threadIdx.x < most_bins) {
        count[blockIdx.x * most_bins + threadIdx.x] = table[threadIdx.x];
    }
}
// ANCHOR_END: shared_bins

// Changed: the 1 is an argument.
// Why:     the compiler no longer knows it, so it takes the general add.
// Expect:  lanes of one bin take turns: the fewer bins, the longer.
// ANCHOR: shared_step
extern "C" __global__ void shared_step(const u32* bin, u32* count, u64 n, u32 rounds, u32 bins, u32 step) {
    __shared__ u32 table[most_bins];
    const u64 i = thread_index();
    if (threadIdx.x < most_bins) {
        table[threadIdx.x] = 0;
    }
    __syncthreads();
    if (i < n) {
        u32 mine = bin[i];
#pragma unroll 1
        for (u32 round = 0; round < rounds; ++round) {
            atomicAdd(&table[mine], step);
            mine = next(mine, bins);
        }
    }
    __syncthreads();
    if (threadIdx.x < most_bins) {
        count[blockIdx.x * most_bins + threadIdx.x] = table[threadIdx.x];
    }
}
// ANCHOR_END: shared_step

// Changed: against `shared_step`, a match first, and one lane a bin adds.
// Why:     one add for each distinct bin of a warp.
// Expect:  a match costs more than a short queue in shared memory; on few bins less than a long one.
// ANCHOR: shared_match
extern "C" __global__ void shared_match(const u32* bin, u32* count, u64 n, u32 rounds, u32 bins) {
    __shared__ u32 table[most_bins];
    const u64 i = thread_index();
    const u32 there = __ballot_sync(full_warp, i < n);
    if (threadIdx.x < most_bins) {
        table[threadIdx.x] = 0;
    }
    __syncthreads();
    if (i < n) {
        u32 mine = bin[i];
#pragma unroll 1
        for (u32 round = 0; round < rounds; ++round) {
            const u32 peers = __match_any_sync(there, mine);
            if (threadIdx.x % warp_size == u32(__ffs(peers) - 1)) {
                atomicAdd(&table[mine], u32(__popc(peers)));
            }
            mine = next(mine, bins);
        }
    }
    __syncthreads();
    if (threadIdx.x < most_bins) {
        count[blockIdx.x * most_bins + threadIdx.x] = table[threadIdx.x];
    }
}
// ANCHOR_END: shared_match
