// Question: how does a thread wait for another one, and what does the waiting cost?
//
// plain_load     reads the flag until it is there, by a plain load: WRONG, the compiler reads it once
// volatile_load  a load that the compiler must repeat; a fence behind the loop
// relaxed_load   a relaxed load at device scope; a fence behind the loop
// acquire_load   an acquiring load; no fence
// fence_in_loop  volatile_load with the fence inside the loop
// atomic_or      the flag is read by an atomic that changes nothing; a fence behind the loop
// backoff        relaxed_load that sleeps between two looks, longer each time
// no_acquire     volatile_load without the fence: WRONG, the flag is new and the payload may be old
// no_order       and the flag stored without a release: WRONG
// test_and_set   a lock: whoever swaps a 0 for a 1 has it
// ticket_lock    a lock: draw a ticket and wait for its turn
// unfenced_lock  test_and_set by relaxed atomics: WRONG, it excludes and hands nothing over
//
// Reference: `*payload` goes from 0 to `rounds`, by 1 in each turn.
//   down to atomic_or and no_order: round r is the turn of block r mod blocks, which waits until *turn == r
//   the locks:                      a block takes as many turns, whenever it gets the lock
//
// All versions: a block a contender, of which one thread takes part. No wait has another bound than the clock: with a
// number of tries for a bound the compiler could work out the end of the loop, and leave it away.
#include "common.cuh"

// ANCHOR: wait
struct Given {
    u64 limit_cycles;  // a wait that has lasted this long is given up
    u32 rounds;
    u32 unused;
};

// Words that nobody else's line holds.
struct Words {
    u32 turn;
    u32 beside_turn[31];
    u32 ticket;
    u32 beside_ticket[31];
    u32 payload;
};

struct Deadline {
    u64 end;
    __device__ explicit Deadline(const Given& given) : end(clock64() + given.limit_cycles) {}
    __device__ bool passed() const { return clock64() >= end; }
};

// Takes this block's turns. `wait` says whether the turn came, `pass` gives it on.
template <class Wait, class Pass>
static __device__ __forceinline__ void take_turns(Words* words, const Given* from, u32* turns, Wait wait, Pass pass) {
    if (threadIdx.x != 0) {
        return;
    }
    const Given given = *from;
    u32 taken = 0;
    for (u32 round = blockIdx.x; round < given.rounds; round += gridDim.x) {
        if (!wait(&words->turn, round, Deadline(given))) {
            break;
        }
        words->payload += 1;  // plain: whose turn it is has it alone
        taken += 1;
        pass(&words->turn, round);
    }
    turns[blockIdx.x] = taken;
}
// ANCHOR_END: wait

// ANCHOR: order
static __device__ __forceinline__ void fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

static __device__ __forceinline__ u32 load_relaxed(const u32* word) {
    u32 value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                 : "=r"(value) : "l"(__cvta_generic_to_global(word)) : "memory");
    return value;
}

static __device__ __forceinline__ u32 load_acquire(const u32* word) {
    u32 value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(value) : "l"(__cvta_generic_to_global(word)) : "memory");
    return value;
}

static __device__ __forceinline__ void store_release(u32* word, u32 value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(word)), "r"(value) : "memory");
}

// The turn goes to the next round; whatever the thread did before is done before.
struct PassOn {
    __device__ void operator()(u32* turn, u32 round) const { store_release(turn, round + 1); }
};
// ANCHOR_END: order

// Changed: the starting point. WRONG.
// Why:     it reads like a wait.
// Expect:  one load before the loop, and a loop that looks at a register until the clock ends it.
// ANCHOR: plain_load
struct PlainLoad {
    __device__ bool operator()(const u32* turn, u32 round, Deadline deadline) const {
        while (*turn != round) {
            if (deadline.passed()) {
                return false;
            }
        }
        fence();
        return true;
    }
};

extern "C" __global__ void plain_load(Words* words, const Given* given, u32* turns) {
    take_turns(words, given, turns, PlainLoad(), PassOn());
}
// ANCHOR_END: plain_load

// Changed: the load is volatile.
// Why:     the compiler must make every one of them, and the SM must fetch it from where others write.
// Expect:  a look is a round trip to the L2, and no more.
// ANCHOR: volatile_load
struct VolatileLoad {
    __device__ bool operator()(const u32* turn, u32 round, Deadline deadline) const {
        while (*static_cast<const volatile u32*>(turn) != round) {
            if (deadline.passed()) {
                return false;
            }
        }
        fence();
        return true;
    }
};

extern "C" __global__ void volatile_load(Words* words, const Given* given, u32* turns) {
    take_turns(words, given, turns, VolatileLoad(), PassOn());
}
// ANCHOR_END: volatile_load

// Changed: the load is an atomic one, relaxed, at device scope.
// Why:     it says what is meant; volatile promises the same as relaxed at system scope.
// Expect:  the same instruction but for its scope, and the same time.
// ANCHOR: relaxed_load
struct RelaxedLoad {
    __device__ bool operator()(const u32* turn, u32 round, Deadline deadline) const {
        while (load_relaxed(turn) != round) {
            if (deadline.passed()) {
                return false;
            }
        }
        fence();
        return true;
    }
};

extern "C" __global__ void relaxed_load(Words* words, const Given* given, u32* turns) {
    take_turns(words, given, turns, RelaxedLoad(), PassOn());
}
// ANCHOR_END: relaxed_load

// Changed: the load acquires, and the fence is gone.
// Why:     the order belongs to the load that sees the flag.
// Expect:  every look empties the L1, though only the last one has to; nothing waits for stores.
// ANCHOR: acquire_load
struct AcquireLoad {
    __device__ bool operator()(const u32* turn, u32 round, Deadline deadline) const {
        while (load_acquire(turn) != round) {
            if (deadline.passed()) {
                return false;
            }
        }
        return true;
    }
};

extern "C" __global__ void acquire_load(Words* words, const Given* given, u32* turns) {
    take_turns(words, given, turns, AcquireLoad(), PassOn());
}
// ANCHOR_END: acquire_load

// Changed: from volatile_load, the fence is in the loop.
// Why:     a habit: fence first, then look.
// Expect:  every look waits for a fence as well, so the flag is seen later.
// ANCHOR: fence_in_loop
struct FenceInLoop {
    __device__ bool operator()(const u32* turn, u32 round, Deadline deadline) const {
        while (*static_cast<const volatile u32*>(turn) != round) {
            __threadfence();
            if (deadline.passed()) {
                return false;
            }
        }
        __threadfence();
        return true;
    }
};

extern "C" __global__ void fence_in_loop(Words* words, const Given* given, u32* turns) {
    take_turns(words, given, turns, FenceInLoop(), PassOn());
}
// ANCHOR_END: fence_in_loop

// Changed: from volatile_load, the look is an atomic or with 0.
// Why:     it can't be hoisted either, and needs no volatile.
// Expect:  each look takes a turn at the word, and the store that everyone waits for queues behind them.
// ANCHOR: atomic_or
struct AtomicOr {
    __device__ bool operator()(u32* turn, u32 round, Deadline deadline) const {
        while (atomicOr(turn, 0u) != round) {
            if (deadline.passed()) {
                return false;
            }
        }
        fence();
        return true;
    }
};

extern "C" __global__ void atomic_or(Words* words, const Given* given, u32* turns) {
    take_turns(words, given, turns, AtomicOr(), PassOn());
}
// ANCHOR_END: atomic_or

// Changed: from relaxed_load, a pause after a look in vain, twice as long each time.
// Why:     fewer looks leave the word, and the SM, to others.
// Expect:  later, by half a pause on average; cheaper for whoever else needs the memory.
// ANCHOR: backoff
struct Backoff {
    __device__ bool operator()(const u32* turn, u32 round, Deadline deadline) const {
        constexpr u32 longest_ns = 1024;
        u32 pause_ns = 32;
        while (load_relaxed(turn) != round) {
            if (deadline.passed()) {
                return false;
            }
            __nanosleep(pause_ns);
            pause_ns = min(2 * pause_ns, longest_ns);
        }
        fence();
        return true;
    }
};

extern "C" __global__ void backoff(Words* words, const Given* given, u32* turns) {
    take_turns(words, given, turns, Backoff(), PassOn());
}
// ANCHOR_END: backoff

// Changed: from volatile_load, the fence behind the loop is gone. WRONG.
// Why:     the flag was seen, and it was released.
// Expect:  a payload from this SM's L1, as it was at the block's last turn.
// ANCHOR: no_acquire
struct Unacquired {
    __device__ bool operator()(const u32* turn, u32 round, Deadline deadline) const {
        while (*static_cast<const volatile u32*>(turn) != round) {
            if (deadline.passed()) {
                return false;
            }
        }
        return true;
    }
};

extern "C" __global__ void no_acquire(Words* words, const Given* given, u32* turns) {
    take_turns(words, given, turns, Unacquired(), PassOn());
}
// ANCHOR_END: no_acquire

// Changed: nor is the flag released. WRONG.
// Why:     volatile on both sides.
// Expect:  volatile orders its own location and no other, so the payload may also come after the flag.
// ANCHOR: no_order
struct StoreVolatile {
    __device__ void operator()(u32* turn, u32 round) const { *static_cast<volatile u32*>(turn) = round + 1; }
};

extern "C" __global__ void no_order(Words* words, const Given* given, u32* turns) {
    take_turns(words, given, turns, Unacquired(), StoreVolatile());
}
// ANCHOR_END: no_order

// Changed: no order of turns: a lock. It is 0 while it is free; an acquiring swap takes it, a releasing store gives it
//          back.
// Why:     most waits are for a place, not for one's number.
// Expect:  every look of a waiting block is an atomic at the lock, and who gets it is luck.
// ANCHOR: test_and_set
struct TakeLock {
    __device__ bool operator()(u32* lock, u32, Deadline deadline) const {
        u32 before;
        do {
            asm volatile("atom.acquire.gpu.global.exch.b32 %0, [%1], 1;"
                         : "=r"(before) : "l"(__cvta_generic_to_global(lock)) : "memory");
            if (before != 0 && deadline.passed()) {
                return false;
            }
        } while (before != 0);
        return true;
    }
};

struct GiveBack {
    __device__ void operator()(u32* lock, u32) const { store_release(lock, 0); }
};

extern "C" __global__ void test_and_set(Words* words, const Given* given, u32* turns) {
    take_turns(words, given, turns, TakeLock(), GiveBack());
}
// ANCHOR_END: test_and_set

// Changed: a block draws a ticket, and waits by loads until its number is served.
// Why:     one atomic a turn instead of one a look; first come, first served.
// Expect:  the time of acquire_load.
// ANCHOR: ticket_lock
extern "C" __global__ void ticket_lock(Words* words, const Given* given, u32* turns) {
    u32 ticket = 0;
    take_turns(
        words, given, turns,
        [&](const u32* serving, u32, Deadline deadline) {
            ticket = atomicAdd(&words->ticket, 1u);
            return AcquireLoad()(serving, ticket, deadline);
        },
        [&](u32* serving, u32) { store_release(serving, ticket + 1); });
}
// ANCHOR_END: ticket_lock

// Changed: from test_and_set, both atomics are relaxed. WRONG.
// Why:     atomicExch is, and it does exclude: one block at a time is inside.
// Expect:  updates lost: a block adds to what it remembers.
// ANCHOR: unfenced_lock
struct TakeRelaxed {
    __device__ bool operator()(u32* lock, u32, Deadline deadline) const {
        while (atomicExch(lock, 1u) != 0) {
            if (deadline.passed()) {
                return false;
            }
        }
        return true;
    }
};

struct GiveBackRelaxed {
    __device__ void operator()(u32* lock, u32) const { atomicExch(lock, 0u); }
};

extern "C" __global__ void unfenced_lock(Words* words, const Given* given, u32* turns) {
    take_turns(words, given, turns, TakeRelaxed(), GiveBackRelaxed());
}
// ANCHOR_END: unfenced_lock

// What a GPU promises about progress. Each thread that takes part waits for another one; `gave_up` counts those whose
// wait the clock has ended.
//
// ANCHOR: progress
// Every block waits for a flag that the last block sets: it has to be on the GPU at the same time.
extern "C" __global__ void wait_for_last(u32* flag, const Given* given, u32* gave_up) {
    if (threadIdx.x != 0) {
        return;
    }
    if (blockIdx.x == gridDim.x - 1) {
        store_release(flag, 1);
    } else if (!AcquireLoad()(flag, 1, Deadline(*given))) {
        atomicAdd(gave_up, 1u);
    }
}

// Every block waits for the one before it: it has to have started.
extern "C" __global__ void wait_for_before(u32* flag, const Given* given, u32* gave_up) {
    if (threadIdx.x != 0) {
        return;
    }
    if (!AcquireLoad()(flag, blockIdx.x, Deadline(*given))) {
        atomicAdd(gave_up, 1u);
    }
    store_release(flag, blockIdx.x + 1);
}

// Every lane of a warp takes the same lock, by a loop that ends when it has it: whoever has it must go on while the
// others of its warp still loop.
extern "C" __global__ void lock_by_lanes(u32* lock, const Given* given, u32* gave_up) {
    if (!TakeLock()(lock, 0, Deadline(*given))) {
        atomicAdd(gave_up, 1u);
    } else {
        store_release(lock, 0);
    }
}
// ANCHOR_END: progress
