// Question: what does an update cost that can only be written as a compare-and-swap loop, when others want the same word?
//
// native_add         every thread adds 1 to its word, again and again; nobody reads the old value
// native_fetch_add   the old value comes back, so a thread waits for the reply before its next add
// native_subtract    subtracts 1: an add of the negative, and nothing else changes
// cas_add            the add as a compare-and-swap loop: look, compute, swap if the word is as seen, else once more
// cas_multiply       the same loop, another function: there is no native multiply
// cas_xor            the same loop with xor, of which no outcome ever makes another update needless
// cas_backoff        cas_add that sleeps after a failed swap, twice as long each time
// warp_then_cas      lanes of a warp that update the same word add up first; one of them runs the loop
// exchange           takes what is there and leaves its own: a swap without a condition
// cas_float_max      the maximum of floats by the loop; what is not above the word needs no swap
// ordered_max        floats mapped to integers of the same order, and the native integer maximum
// integer_max        WRONG: the integer maximum on a float's own bits, whose order turns round below zero
//
// Reference, for each word:
//   for each update that a thread counts as done:
//       word = function(word)
//
// All versions: 256 threads a block; threads 0 .. contenders-1 take part, thread i at words[place[i]]. The place is read
// from memory, so the compiler cannot know that two lanes share a word, and folds nothing.
// Every atomic here is relaxed, at device scope: the host reads the words after the launch has ended.
#include "common.cuh"

constexpr u32 block_size = 256;

// ANCHOR: turns
// How long a thread goes on. On a GPU the window closes a run; where time is not real, the number of updates does.
// `tries` bounds both, should the timer stand still or a swap never succeed.
struct Run {
    u64 window_ns;
    u32 contenders;
    u32 updates;
    u32 tries;
    u32 unused;
};

// What a thread has done: updates, and swaps that found another value than the one seen.
struct Tally {
    u32 updates;
    u32 failed;
};

struct Turns {
    Run run;
    Tally tally;
    u64 now, end;

    __device__ explicit Turns(const Run& given) : run(given), tally{0, 0} {
        mark();
        end = now + run.window_ns;
    }
    // Reads the timer. Stands before an atomic, so that both are under way together.
    __device__ void mark() { asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); }
    __device__ bool open() const {
        return now < end && tally.updates < run.updates && tally.updates + tally.failed < run.tries;
    }
    __device__ void won() { tally.updates += 1; }
    // Counts a swap. Whether the loop ends here: it succeeded, or the run is over.
    __device__ bool done(bool swapped) {
        tally.updates += swapped;
        tally.failed += !swapped;
        return swapped || !open();
    }
};
// ANCHOR_END: turns

// The word as it is in the L2, not as a cache of this SM remembers it.
static __device__ __forceinline__ u32 look(const u32* word) {
    return *static_cast<const volatile u32*>(word);
}

static __device__ __forceinline__ u32 thread_index() {
    return blockIdx.x * block_size + threadIdx.x;
}

// Changed: the starting point.
// Why:     the add that the L2 carries out by itself; nobody waits for an answer.
// Expect:  on one word, a rate that does not depend on the number of threads.
// ANCHOR: native_add
extern "C" __global__ void native_add(u32* words, const u32* place, const Run* run, Tally* tally) {
    const u32 i = thread_index();
    if (i >= run->contenders) {
        return;
    }
    u32* word = words + place[i];
    Turns turns(*run);
    while (turns.open()) {
        turns.mark();
        atomicAdd(word, 1u);
        turns.won();
    }
    tally[i] = turns.tally;
}
// ANCHOR_END: native_add

// Changed: the old value comes back as a ticket, and the thread looks at it before it draws the next.
// Why:     with a reply, one add of a thread is under way at a time, as one swap is in a loop.
// Expect:  alone, one update a round trip; with many threads the rate of native_add.
// ANCHOR: native_fetch_add
extern "C" __global__ void native_fetch_add(u32* words, const u32* place, const Run* run, Tally* tally) {
    const u32 i = thread_index();
    if (i >= run->contenders) {
        return;
    }
    u32* word = words + place[i];
    const u32 last_ticket = ~0u;
    Turns turns(*run);
    u32 ticket = 0;
    while (turns.open() && ticket != last_ticket) {
        turns.mark();
        ticket = atomicAdd(word, 1u);
        turns.won();
    }
    tally[i] = turns.tally;
}
// ANCHOR_END: native_fetch_add

// Changed: from native_add, the sign.
// Why:     there is no native subtract; the compiler negates the operand.
// Expect:  the same instruction, the same rate.
// ANCHOR: native_subtract
extern "C" __global__ void native_subtract(u32* words, const u32* place, const Run* run, Tally* tally) {
    const u32 i = thread_index();
    if (i >= run->contenders) {
        return;
    }
    u32* word = words + place[i];
    Turns turns(*run);
    while (turns.open()) {
        turns.mark();
        atomicSub(word, 1u);
        turns.won();
    }
    tally[i] = turns.tally;
}
// ANCHOR_END: native_subtract

// Changed: from native_fetch_add, the L2 compares and swaps; the thread computes.
// Why:     any function of the old value can stand where `seen + 1` does.
// Expect:  of all swaps under way one succeeds; the others have to make the trip again.
// ANCHOR: cas_add
extern "C" __global__ void cas_add(u32* words, const u32* place, const Run* run, Tally* tally) {
    const u32 i = thread_index();
    if (i >= run->contenders) {
        return;
    }
    u32* word = words + place[i];
    Turns turns(*run);
    while (turns.open()) {
        u32 old = look(word);
        u32 seen;
        do {
            seen = old;
            turns.mark();
            old = atomicCAS(word, seen, seen + 1);
        } while (!turns.done(old == seen));
    }
    tally[i] = turns.tally;
}
// ANCHOR_END: cas_add

// Changed: the function. The factor is odd and the word begins at 1, so every success changes it.
// Why:     no GPU multiplies at an address.
// Expect:  what cas_add does: the L2 sees only swaps.
// ANCHOR: cas_multiply
extern "C" __global__ void cas_multiply(u32* words, const u32* place, const Run* run, Tally* tally) {
    const u32 i = thread_index();
    if (i >= run->contenders) {
        return;
    }
    u32* word = words + place[i];
    Turns turns(*run);
    while (turns.open()) {
        u32 old = look(word);
        u32 seen;
        do {
            seen = old;
            turns.mark();
            old = atomicCAS(word, seen, seen * 5);
        } while (!turns.done(old == seen));
    }
    tally[i] = turns.tally;
}
// ANCHOR_END: cas_multiply

// Changed: the function. A thread's pattern is not zero, so every success changes the word.
// Why:     there is a native xor; the loop shows what an update costs that no other can make needless.
// Expect:  what cas_add does. In a crowd, threads that never get through.
// ANCHOR: cas_xor
extern "C" __global__ void cas_xor(u32* words, const u32* place, const Run* run, Tally* tally) {
    const u32 i = thread_index();
    if (i >= run->contenders) {
        return;
    }
    u32* word = words + place[i];
    const u32 pattern = i * 0x9e3779b1u | 1u;
    Turns turns(*run);
    while (turns.open()) {
        u32 old = look(word);
        u32 seen;
        do {
            seen = old;
            turns.mark();
            old = atomicCAS(word, seen, seen ^ pattern);
        } while (!turns.done(old == seen));
    }
    tally[i] = turns.tally;
}
// ANCHOR_END: cas_xor

// Changed: from cas_add, a pause after a failed swap, doubled each time, and a fresh look after it.
// Why:     fewer swaps at a time wait in the queue, so more of those served are the next in turn.
// Expect:  far fewer failures. The queue is shorter; it is still one update a round trip.
// ANCHOR: cas_backoff
extern "C" __global__ void cas_backoff(u32* words, const u32* place, const Run* run, Tally* tally) {
    constexpr u32 shortest_ns = 64, longest_ns = 1u << 19;
    const u32 i = thread_index();
    if (i >= run->contenders) {
        return;
    }
    u32* word = words + place[i];
    Turns turns(*run);
    while (turns.open()) {
        u32 pause_ns = shortest_ns;
        u32 seen = look(word);
        turns.mark();
        while (!turns.done(atomicCAS(word, seen, seen + 1) == seen)) {
            __nanosleep(static_cast<u32>(min(u64(pause_ns), turns.end - turns.now)));
            pause_ns = min(2 * pause_ns, longest_ns);
            seen = look(word);
            turns.mark();
        }
    }
    tally[i] = turns.tally;
}
// ANCHOR_END: cas_backoff

// Changed: from cas_add, the lanes at one word (its peers) add up, and the first of them swaps for all.
// Why:     a warp has one contender where it had 32, and its one success makes 32 updates.
// Expect:  a gain by the square of the lanes folded, where contention is what costs.
// ANCHOR: warp_then_cas
extern "C" __global__ void warp_then_cas(u32* words, const u32* place, const Run* run, Tally* tally) {
    const u32 i = thread_index();
    const u32 taking_part = __ballot_sync(full_warp, i < run->contenders);
    if (i >= run->contenders) {
        return;
    }
    u32* word = words + place[i];
    const u32 peers = __match_any_sync(taking_part, place[i]);
    const u32 first = __ffs(peers) - 1;
    Turns turns(*run);
    while (__shfl_sync(peers, turns.open(), first)) {
        bool swapped = false;
        if (threadIdx.x % warp_size == first) {
            u32 old = look(word);
            u32 seen;
            do {
                seen = old;
                turns.mark();
                old = atomicCAS(word, seen, seen + __popc(peers));
                swapped = old == seen;
            } while (!turns.done(swapped));
        }
        const bool all = __shfl_sync(peers, swapped, first);
        if (threadIdx.x % warp_size != first && all) {
            turns.won();
        }
    }
    tally[i] = turns.tally;
}
// ANCHOR_END: warp_then_cas

// Changed: from native_fetch_add, the operation: the thread leaves its own item, with one more hand-off stamped on it,
//          and goes on with the one that was there.
// Why:     nothing is computed from what was there, so there is nothing to compare and nothing to repeat.
// Expect:  the rate of native_fetch_add. No item is lost, none is there twice.
// ANCHOR: exchange
extern "C" __global__ void exchange(u32* words, const u32* place, const Run* run, Tally* tally, u32* held) {
    const u32 i = thread_index();
    if (i >= run->contenders) {
        return;
    }
    u32* word = words + place[i];
    u32 item = (i + 1) << 12;
    Turns turns(*run);
    while (turns.open()) {
        turns.mark();
        item = atomicExch(word, item + 1);
        turns.won();
    }
    held[i] = item;
    tally[i] = turns.tally;
}
// ANCHOR_END: exchange

// ANCHOR: proposals
// A thread's k-th proposal for the maximum. The first is given. After it they rise by 32 a turn from far below zero, so
// that the maximum never stands still, and one in eight is not a number.
static __device__ __forceinline__ float proposal(float first, u32 thread, u32 k) {
    if (k == 0) {
        return first;
    }
    u32 noise = (thread ^ k * 0x9e3779b1u) * 0x85ebca77u;
    noise ^= noise >> 16;
    const float number = static_cast<float>(static_cast<int>(32 * k + noise % 32) - (1 << 20));
    return noise / 32 % 8 == 0 ? __uint_as_float(0x7fffffffu) : number;
}
// ANCHOR_END: proposals

// Policy of the maximum: fmaxf's. A NaN loses to any number, only NaNs give NaN, and -0 is below +0.
//
// Changed: from cas_add, the function; and where the word needs no change, there is no swap.
// Why:     floats have no native maximum.
// Expect:  a failed swap was lost to a higher value, often one that makes this proposal needless: few retries.
// ANCHOR: cas_float_max
extern "C" __global__ void cas_float_max(u32* words, const u32* place, const Run* run, Tally* tally,
                                         const float* first) {
    const u32 i = thread_index();
    if (i >= run->contenders) {
        return;
    }
    u32* word = words + place[i];  // begins as NaN: no number yet
    Turns turns(*run);
    while (turns.open()) {
        const float mine = proposal(first[i], i, turns.tally.updates);
        u32 old = look(word);
        u32 seen;
        do {
            seen = old;
            turns.mark();
            const u32 raised = __float_as_uint(fmaxf(__uint_as_float(seen), mine));
            if (raised != seen) {
                old = atomicCAS(word, seen, raised);
            }
        } while (!turns.done(old == seen));
    }
    tally[i] = turns.tally;
}
// ANCHOR_END: cas_float_max

// Changed: no loop. Negative floats have all bits flipped, others the sign bit, and NaN is 0, below them all.
// Why:     unsigned integers then have the order of the floats, and their maximum is native.
// Expect:  the rate of native_add. The word holds a mapped float, and whoever reads it maps it back.
// ANCHOR: ordered_max
static __device__ __forceinline__ u32 ordered(float value) {
    const u32 bits = __float_as_uint(value);
    const u32 sign = 0x80000000u;
    return value != value ? 0 : bits & sign ? ~bits : bits | sign;
}

extern "C" __global__ void ordered_max(u32* words, const u32* place, const Run* run, Tally* tally,
                                       const float* first) {
    const u32 i = thread_index();
    if (i >= run->contenders) {
        return;
    }
    u32* word = words + place[i];  // begins as 0: no number yet
    Turns turns(*run);
    while (turns.open()) {
        turns.mark();
        atomicMax(word, ordered(proposal(first[i], i, turns.tally.updates)));
        turns.won();
    }
    tally[i] = turns.tally;
}
// ANCHOR_END: ordered_max

// Changed: from ordered_max, the mapping is left away. WRONG.
// Why:     it is right as long as no float is negative, and so passes many a test.
// Expect:  of two negative floats the lower wins, and a NaN beats every number.
// ANCHOR: integer_max
extern "C" __global__ void integer_max(u32* words, const u32* place, const Run* run, Tally* tally,
                                       const float* first) {
    const u32 i = thread_index();
    if (i >= run->contenders) {
        return;
    }
    int* word = reinterpret_cast<int*>(words + place[i]);  // begins as the lowest float
    Turns turns(*run);
    while (turns.open()) {
        turns.mark();
        atomicMax(word, __float_as_int(proposal(first[i], i, turns.tally.updates)));
        turns.won();
    }
    tally[i] = turns.tally;
}
// ANCHOR_END: integer_max

// Gives words their first value, before the timed stretch.
extern "C" __global__ void set_words(u32* words, u32 count, u32 value) {
    const u32 i = thread_index();
    if (i < count) {
        words[i] = value;
    }
}
