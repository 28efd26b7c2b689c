// Question: a block writes a message and then a flag; who has seen the flag, has he the message?
//
// plain                  loads and stores without a word: the compiler and every cache may do as they like
// volatile               each access is made, at system scope, and orders nothing but itself
// relaxed_<scope>        the same at a scope of its own: cta, cluster, gpu, sys
// relacq_<scope>         every load acquires, every store releases
// fence_acq_rel_<scope>  relaxed accesses, and between a thread's two a fence that acquires and releases
// fence_sc_<scope>       the same with a sequentially consistent fence
//
// Reference: none. What may come of it is said by the memory model (labs/oracle), and what does is counted:
//   for each instance of a test, in its own words, all of them 0:
//       its parts (threads) each make one or two accesses, at the same time as far as that can be had
//       the count looks for the one outcome that no interleaving of the parts gives
//
// All tests are made of the same few parts: a write, or two accesses each of which reads or writes. Every version has the
// same text for them and differs in three instructions: its load, its store, and what stands between.
// needs: sm_90
#include "common.cuh"

constexpr u32 block_size = 256;
constexpr u32 warps = block_size / warp_size;

// ANCHOR: parts
// What a part does with `first`, then with `second`. Bits: its first access reads; its second does; it has a second.
enum Shape : u32 { write = 0, write_write = 4, read_write = 5, write_read = 6, read_read = 7 };

struct Part {
    u32 shape;
    u32 first, second;              // locations
    u32 first_value, second_value;  // what it writes there
};
// ANCHOR_END: parts

// With a host, the first part runs here and the others there, or the other way round.
enum Place : u32 { same_warp, same_block, same_cluster, other_block, host, host_first };

constexpr u32 most_parts = 4;

// How a launch is laid out; the same for all its threads.
struct Setting {
    Part part[most_parts];
    u32 parts, place;
    u32 here;              // the first part that runs on the GPU
    u32 team;              // blocks that play one instance together
    u32 parties;           // those who begin a round together: a team's blocks, and threads of the host
    u32 testers;           // blocks that play; those beyond make stress
    u32 rounds;            // instances a thread plays, one after the other
    u32 instances;         // of one round
    u32 stride;            // words from one instance to the next
    u32 span;              // words from one location to the next
    u32 turn;              // by how many threads each part is turned against the one before
    u32 shuffle;           // blocks are numbered by steps of this
    u32 skew;              // a warp waits up to this many cycles before its part, or a thread if its part is in the same warp
    u32 lag;               // each part waits so many cycles more than the one before
    u32 pause;             // between its two accesses a warp or thread waits up to this many cycles, if it does
    u32 warm;              // whether a part looks at what it is going to read last, before the start
    u32 stress, stress_words;
    u32 patience;          // cycles a block waits for its team
    u32 seed;
    u32 clauses;           // of the outcome
    u32 source[most_parts], value[most_parts];
};

constexpr u32 played = 1u << 31;  // marks an answer

static __device__ __forceinline__ u32 scramble(u32 x) {
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

// Blocks in an order of their own, so that those of a team are not neighbours.
static __device__ __forceinline__ u32 numbered(const Setting& s) {
    return blockIdx.x * s.shuffle % s.testers;
}

struct Role {
    u32 part, instance;
    bool plays;
};

// Which part of which instance a thread plays.
static __device__ __forceinline__ Role role(const Setting& s) {
    const u32 lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    const u32 block = numbered(s);
    if (s.place == same_warp) {
        const u32 a_warp = warp_size / s.parts;
        return {lane % s.parts, (block * warps + warp) * a_warp + lane / s.parts, lane / s.parts < a_warp};
    }
    if (s.place == same_block) {
        const u32 a_block = warps / s.parts * warp_size;
        const u32 part = warp % s.parts, thread = warp / s.parts * warp_size + lane;
        return {part, block * a_block + (thread + part * s.turn) % a_block, thread < a_block};
    }
    const u32 part = s.here + block % s.team;
    return {part, block / s.team * block_size + (threadIdx.x + part * s.turn) % block_size, part < s.parts};
}

// ANCHOR: start
// The parties of a team begin a round together: each tells the others its round and waits until they have told theirs.
// Who waits longer than `patience` cycles goes on alone: nothing hangs. Telling and looking are relaxed, so the start
// orders no access of the test.
static __device__ void start(u32* gates, u32 me, u32 parties, u32 round, u32 patience) {
    __syncthreads();
    if (threadIdx.x == 0 && parties > 1) {
        volatile u32* told = gates;  // a line each
        told[me * warp_size] = round;
        const long long began = clock64();
        for (u32 party = 0; party < parties; party++) {
            while (told[party * warp_size] < round && clock64() - began < patience) {
            }
        }
    }
    __syncthreads();
}
// ANCHOR_END: start

// Blocks that play no part read and write elsewhere until all testers have finished, so that the memory is busy.
static __device__ __forceinline__ void make_stress(const Setting& s, u32* scratch, const u32* finished) {
    u32 at = scramble(s.seed ^ (blockIdx.x * block_size + threadIdx.x));
    const long long began = clock64();
    const long long longest = 16ll * s.patience;
    while (*static_cast<const volatile u32*>(finished) < s.testers && clock64() - began < longest) {
#pragma unroll 1
        for (u32 i = 0; i < 16; i++) {
            at = scramble(at + i);
            volatile u32* word = scratch + at % s.stress_words;
            if (s.stress == 2 || (s.stress == 3 && i % 2 == 0)) {
                *word = at;
            } else {
                at += *word & 1u;
            }
        }
    }
}

// ANCHOR: play
// One part of one instance: its first access after `wait` cycles, its second after `pause` more. Every thread looks at
// the clock for itself, so those of one warp take turns as those of several do.
// What it has read comes back: the first read in the low half, the second in the high.
template <class Operations>
static __device__ __forceinline__ u32 play(const Part& part, u32* first, u32* second, u32 wait, u32 pause) {
    u32 a = 0, b = 0, made = 0;
    const u32 began = clock();
    do {
        const u32 passed = clock() - began;
        if (made == 0 && passed >= wait) {
            if (part.shape & 1) {
                a = Operations::load(first);
            } else {
                Operations::store(first, part.first_value);
            }
            made = 1;
        }
        if (made == 1 && passed >= wait + pause) {
            if (part.shape & 4) {
                Operations::between();
                if (part.shape & 2) {
                    b = Operations::load(second);
                } else {
                    Operations::store(second, part.second_value);
                }
            }
            made = 2;
        }
    } while (made < 2);
    return a | b << 16;
}
// ANCHOR_END: play

template <class Operations>
static __device__ __forceinline__ void take_part(const Setting* setting, u32* words, u32* seen, u32* gates, u32* scratch,
                                                 u32* finished) {
    const Setting& s = *setting;
    if (blockIdx.x >= s.testers) {
        make_stress(s, scratch, finished);
        return;
    }
    const Role me = role(s);
    const Part part = s.part[me.part % most_parts];
    const u32 rounds = s.rounds, instances = s.instances, stride = s.stride, seed = s.seed;
    const u32 skew = s.skew + 1, pause = s.pause + 1, behind = me.part * s.lag;
    const u32 parties = s.parties, patience = s.patience;
    u32* met = gates + numbered(s) / s.team * (most_parts * warp_size);
    u32* first = words + part.first * s.span;
    u32* second = words + part.second * s.span;
    u32* answers = seen + me.part * (rounds * instances);
    const u32 thread = blockIdx.x * block_size + threadIdx.x;
    const u32 who = s.place == same_warp ? thread : thread / warp_size;
    const bool looks = s.warm != 0 && me.plays && (part.shape & 6) == 6;
    u32 looked = 0;
#pragma unroll 1
    for (u32 round = 0; round < rounds; round++) {
        const u32 instance = round * instances + me.instance, at = instance * stride;
        const u32 chance = scramble(seed ^ (round << 20) ^ who);
        if (looks) {
            looked |= Operations::load(second + at);
        }
        start(met, me.part, parties, round + 1, patience);
        if (me.plays) {
            // Half of the parts make no pause, so that others end within it.
            const u32 other = scramble(chance);
            const u32 wait = behind + chance % skew, between = other & 1 ? other % pause : 0;
            answers[instance] = play<Operations>(part, first + at, second + at, wait, between) | played;
        }
    }
    if (looked > 2) {
        scratch[0] = looked;  // never, but the compiler must keep the look
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(finished, 1u);
    }
}

// ANCHOR: version
// A version: its name, its load, its store, and what stands between two accesses.
#define LITMUS(name, LOAD, STORE, BETWEEN)                                                                        \
    struct name##_operations {                                                                                    \
        static __device__ __forceinline__ u32 load(const u32* word) {                                             \
            u32 value;                                                                                            \
            asm volatile("ld." LOAD ".global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");                \
            return value;                                                                                         \
        }                                                                                                         \
        static __device__ __forceinline__ void store(u32* word, u32 value) {                                      \
            asm volatile("st." STORE ".global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");                 \
        }                                                                                                         \
        static __device__ __forceinline__ void between() { asm volatile(BETWEEN ::: "memory"); }                  \
    };                                                                                                            \
    extern "C" __global__ void name(const Setting* setting, u32* words, u32* seen, u32* gates, u32* scratch,      \
                                    u32* finished) {                                                              \
        take_part<name##_operations>(setting, words, seen, gates, scratch, finished);                             \
    }
// ANCHOR_END: version

// Changed: the starting point.
// Why:     this is what `data = 1; flag = 1;` compiles to.
// Expect:  every reordering that the hardware has. A data race: no promise at all.
// ANCHOR: plain
LITMUS(plain, "weak", "weak", "")
// ANCHOR_END: plain

// Changed: `.volatile`.
// Why:     the access is made where it stands, and the whole system may look.
// Expect:  one location is in order. Two are not.
// ANCHOR: volatile_sys
LITMUS(volatile_sys, "volatile", "volatile", "")
// ANCHOR_END: volatile_sys

// Changed: `.relaxed` and a scope, from the block to the system.
// Why:     an atomic access; this is the order that atomics have by default.
// Expect:  as volatile, for readers within the scope. Beyond it, old values from a cache.
// ANCHOR: relaxed_cta
LITMUS(relaxed_cta, "relaxed.cta", "relaxed.cta", "")
// ANCHOR_END: relaxed_cta
// ANCHOR: relaxed_gpu
LITMUS(relaxed_gpu, "relaxed.gpu", "relaxed.gpu", "")
// ANCHOR_END: relaxed_gpu
// ANCHOR: relaxed_sys
LITMUS(relaxed_sys, "relaxed.sys", "relaxed.sys", "")
// ANCHOR_END: relaxed_sys

// Changed: loads acquire, stores release.
// Why:     what comes before a release is visible to whoever acquires what it wrote: within the scope.
// Expect:  messages arrive within the scope. Two threads that write and then read may still miss each other.
// ANCHOR: relacq_cta
LITMUS(relacq_cta, "acquire.cta", "release.cta", "")
// ANCHOR_END: relacq_cta
// ANCHOR: relacq_gpu
LITMUS(relacq_gpu, "acquire.gpu", "release.gpu", "")
// ANCHOR_END: relacq_gpu
// ANCHOR: relacq_sys
LITMUS(relacq_sys, "acquire.sys", "release.sys", "")
// ANCHOR_END: relacq_sys

// Changed: the accesses are relaxed again; a fence stands between them.
// Why:     a fence orders all accesses before it against all after it, as release and acquire do for one.
// Expect:  what release and acquire give, no more.
// ANCHOR: fence_acq_rel_cta
LITMUS(fence_acq_rel_cta, "relaxed.cta", "relaxed.cta", "fence.acq_rel.cta;")
// ANCHOR_END: fence_acq_rel_cta
// ANCHOR: fence_acq_rel_gpu
LITMUS(fence_acq_rel_gpu, "relaxed.gpu", "relaxed.gpu", "fence.acq_rel.gpu;")
// ANCHOR_END: fence_acq_rel_gpu
// ANCHOR: fence_acq_rel_sys
LITMUS(fence_acq_rel_sys, "relaxed.sys", "relaxed.sys", "fence.acq_rel.sys;")
// ANCHOR_END: fence_acq_rel_sys

// Changed: the fence is sequentially consistent.
// Why:     all such fences have one order, which a write before and a read after must respect.
// Expect:  no weak outcome within the scope.
// ANCHOR: fence_sc_cta
LITMUS(fence_sc_cta, "relaxed.cta", "relaxed.cta", "fence.sc.cta;")
// ANCHOR_END: fence_sc_cta
// ANCHOR: fence_sc_gpu
LITMUS(fence_sc_gpu, "relaxed.gpu", "relaxed.gpu", "fence.sc.gpu;")
// ANCHOR_END: fence_sc_gpu
// ANCHOR: fence_sc_sys
LITMUS(fence_sc_sys, "relaxed.sys", "relaxed.sys", "fence.sc.sys;")
// ANCHOR_END: fence_sc_sys

#if __CUDA_ARCH__ >= 900
// The same four at the scope of a cluster of blocks.
// ANCHOR: relaxed_cluster
LITMUS(relaxed_cluster, "relaxed.cluster", "relaxed.cluster", "")
// ANCHOR_END: relaxed_cluster
// ANCHOR: relacq_cluster
LITMUS(relacq_cluster, "acquire.cluster", "release.cluster", "")
// ANCHOR_END: relacq_cluster
// ANCHOR: fence_acq_rel_cluster
LITMUS(fence_acq_rel_cluster, "relaxed.cluster", "relaxed.cluster", "fence.acq_rel.cluster;")
// ANCHOR_END: fence_acq_rel_cluster
// ANCHOR: fence_sc_cluster
LITMUS(fence_sc_cluster, "relaxed.cluster", "relaxed.cluster", "fence.sc.cluster;")
// ANCHOR_END: fence_sc_cluster
#endif

// ANCHOR: count
struct Totals {
    u32 informative;  // instances in which every clause of the outcome but the last is met
    u32 weak;         // those in which the last is met as well
    u32 faulty;       // a part that gave no answer, or a value that nobody wrote
};

// After the launch: how often the outcome came about. A clause names a read (twice the part, plus 1 for its second
// access) or, from 8 on, the last value of a location.
extern "C" __global__ void count(const Setting* setting, const u32* words, const u32* seen, Totals* totals) {
    __shared__ u32 sums[3];
    const Setting& s = *setting;
    if (threadIdx.x < 3) {
        sums[threadIdx.x] = 0;
    }
    __syncthreads();
    const u32 all = s.rounds * s.instances;
    for (u32 i = blockIdx.x * block_size + threadIdx.x; i < all; i += gridDim.x * block_size) {
        bool faulty = false;
        for (u32 part = 0; part < s.parts; part++) {
            faulty |= (seen[part * all + i] & played) == 0;
        }
        u32 met = 0;
        bool so_far = true;
        for (u32 clause = 0; clause < s.clauses; clause++) {
            const u32 source = s.source[clause];
            const u32 value = source < 8 ? (seen[source / 2 * all + i] & ~played) >> source % 2 * 16 & 0xffffu
                                         : words[(source - 8) * s.span + i * s.stride];
            faulty |= value > 2;
            so_far = so_far && value == s.value[clause];
            met += so_far;
        }
        atomicAdd(&sums[0], u32(met + 1 >= s.clauses));
        atomicAdd(&sums[1], u32(met == s.clauses));
        atomicAdd(&sums[2], u32(faulty));
    }
    __syncthreads();
    if (threadIdx.x < 3) {
        atomicAdd(&totals->informative + threadIdx.x, sums[threadIdx.x]);
    }
}
// ANCHOR_END: count
