// Question: which lines of memory share an L2 slice, told by contention and distance alone, and what does a hot one cost others?
//
// hot_lines    warps add to the lines of a list, each warp to one: lines of one slice take turns, lines of two do not
// add_lines    one thread adds to line after line, each add after the one before: how far is a line's slice from this SM?
// load_lines   the same with loads, while other SMs keep a line hot
// load_stream  many warps load, four loads in flight a lane, while other SMs keep a line hot
//
// Reference:
//   hot_lines:    for each warp w, for each of its lanes:  word 0 of line[w % lines] += rounds
//   add_lines:    for i in 0 .. adds:  value[i] = word 0 of line add[i]; word 0 of line add[i] += 1
//   load_lines:   for i in 0 .. reads:  value[i] = word 31 of line read[i]
//   load_stream:  for each reader's warp w, for i in 0 .. loads:  lane's sum += lane's word of line read[(w + i) % reads]
//
// All versions: 256 threads a block. A line is 128 bytes, numbered from the start of `word`. Word 0 of a line is what gets
// hot; word 31 of a line is its number.
// All but hot_lines are launched with a block an SM, and what a block does depends on its SM: `role` has a number for each.
// Which lines are hot comes from memory, so that the compiler can't know that the lanes of a warp agree, and folds nothing.
// Every atomic here is relaxed, at device scope. `stop` is a word that the readers raise when they are done and that the
// others look at: no data is handed over with it.
#include "common.cuh"

constexpr u32 block_size = 256;
constexpr u32 words_a_line = 32;
constexpr u32 number = words_a_line - 1;
constexpr u32 in_flight = 4;

// Changed: the starting point.
// Why:     a slice has one atomic unit; two hot lines are worked off side by side or one after the other.
// Expect:  two lines take as long as one of them, or twice as long, and nothing in between.
// ANCHOR: hot_lines
extern "C" __global__ void hot_lines(u32* word, const u32* line, u32 lines, u32 rounds) {
    const u32 warp = (blockIdx.x * block_size + threadIdx.x) / warp_size;
    u32* hot = word + u64(line[warp % lines]) * words_a_line;
    for (u32 round = 0; round < rounds; ++round) {
        atomicAdd(hot, 1u);
    }
}
// ANCHOR_END: hot_lines

// ANCHOR: roles
constexpr u32 heats = 1;  // a role of 0 does nothing
constexpr u32 reads_first = 2;  // 2 is the first reader, 3 the second, and so on

// What this block is to do. Notes where it is: a launch with two blocks on one SM is refused.
static __device__ u32 role_here(const u32* role, u32* sm) {
    u32 here;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    if (threadIdx.x == 0) {
        sm[blockIdx.x] = here;
    }
    return role[here];
}
// ANCHOR_END: roles

constexpr u32 most = 1024;  // lines that one thread visits in a launch

// Changed: one thread of one SM adds, and waits for each old value before its next add.
// Why:     without a queue an add takes as long as the way to the line's slice and back.
// Expect:  two kinds of lines, near ones and far ones, if the L2 has a near and a far part.
// ANCHOR: add_lines
extern "C" __global__ void add_lines(u32* word, const u32* role, u32* sm, const u32* add, u32 adds, u32* value, u32* cycles) {
    __shared__ u32 line[most], found[most], took[most];
    if (role_here(role, sm) < reads_first) {
        return;
    }
    for (u32 i = threadIdx.x; i < adds; i += block_size) {
        line[i] = add[i];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 i = 0; i < adds; ++i) {
            const u32 at = line[i];
            if (at == ~0u) {
                break;  // there is no such line: the branch makes the clock wait for the line's number ..
            }
            const long long began = clock64();
            const u32 old = atomicAdd(word + u64(at) * words_a_line, 1u);
            if (old == ~0u) {
                break;  // .. and this one, since no word gets that far, for the old value
            }
            took[i] = u32(clock64() - began);
            found[i] = old;
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < adds; i += block_size) {
        value[i] = found[i];
        cycles[i] = took[i];
    }
}
// ANCHOR_END: add_lines

// ANCHOR: keep_hot
// A load that the L2 answers, whatever the SM holds.
static __device__ __forceinline__ u32 load_l2(const u32* address) {
    u32 value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}

constexpr u32 adds_a_look = 16;
constexpr long long longest = 1 << 28;  // cycles, some 140 ms: a bound for the case that nobody raises `stop`

// Keeps lines hot until `stop` has been raised `readers` times; `adds` counts, a thread at a time.
static __device__ void keep_hot(u32* word, const u32* line, u32 lines, u32* stop, u32 readers, u32* adds) {
    const long long began = clock64();
    const u32 warp = (blockIdx.x * block_size + threadIdx.x) / warp_size;
    u32* hot = word + u64(line[warp % lines]) * words_a_line;
    u32 done = 0;
    while (load_l2(stop) < readers && clock64() - began < longest) {
        for (u32 i = 0; i < adds_a_look; ++i) {
            atomicAdd(hot, 1u);
        }
        done += adds_a_look;
    }
    adds[blockIdx.x * block_size + threadIdx.x] = done;
}

// Lets the others get going.
static __device__ void wait(u32 cycles) {
    const long long began = clock64();
    while (clock64() - began < cycles) {
    }
}
// ANCHOR_END: keep_hot

// Changed: the thread loads, from lines that nobody writes, and other SMs keep a line hot.
// Why:     a load waits in the queue of its line's slice, whoever fills it.
// Expect:  a load that meets the hot line's queue waits long; another one as long as on an idle GPU.
// ANCHOR: load_lines
extern "C" __global__ void load_lines(u32* word, const u32* hot, u32 lines, const u32* role, u32* sm, u32* stop, u32* adds,
                                      const u32* read, u32 reads, u32 head_start, u32* value, u32* cycles) {
    __shared__ u32 line[most], found[most], took[most];
    const u32 own = role_here(role, sm);
    if (own == heats) {
        keep_hot(word, hot, lines, stop, 1, adds);
    }
    if (own < reads_first) {
        return;
    }
    for (u32 i = threadIdx.x; i < reads; i += block_size) {
        line[i] = read[i];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        wait(head_start);
        for (u32 i = 0; i < reads; ++i) {
            const u32 at = line[i];
            if (at == ~0u) {
                break;
            }
            const long long began = clock64();
            const u32 loaded = load_l2(word + u64(at) * words_a_line + number);
            if (loaded == ~0u) {
                break;  // no line has that number either
            }
            took[i] = u32(clock64() - began);
            found[i] = loaded;
        }
        atomicAdd(stop, 1u);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < reads; i += block_size) {
        value[i] = found[i];
        cycles[i] = took[i];
    }
}
// ANCHOR_END: load_lines

// Changed: whole blocks read, a line a warp, four in flight a lane.
// Why:     with many loads under way a wait can be hidden; a rate cannot.
// Expect:  loads that meet the hot line's queue get what it leaves them; others lose nothing.
// ANCHOR: load_stream
extern "C" __global__ void load_stream(u32* word, const u32* hot, u32 lines, const u32* role, u32* sm, u32* stop, u32* adds,
                                       const u32* read, u32 reads, u32 head_start, u32 loads, u32 readers, u32* sum, u32* cycles) {
    const u32 own = role_here(role, sm);
    if (own == heats) {
        keep_hot(word, hot, lines, stop, readers, adds);
    }
    if (own < reads_first) {
        return;
    }
    const u32 reader = own - reads_first;
    const u32 thread = reader * block_size + threadIdx.x;
    const u32* lane = word + threadIdx.x % warp_size;
    u32 place = thread / warp_size % reads;
    u32 total = 0;
    wait(head_start);
    const long long began = clock64();
    for (u32 i = 0; i < loads; i += in_flight) {
        u32 value[in_flight];
        for (u32 j = 0; j < in_flight; ++j) {
            value[j] = load_l2(lane + u64(read[place]) * words_a_line);
            place = place + 1 < reads ? place + 1 : 0;
        }
        for (u32 j = 0; j < in_flight; ++j) {
            total += value[j];
        }
    }
    sum[thread] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        cycles[reader] = u32(clock64() - began);
        atomicAdd(stop, 1u);
    }
}
// ANCHOR_END: load_stream
