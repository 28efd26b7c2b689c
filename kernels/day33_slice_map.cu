// Question: which lines of memory share an L2 slice, told by contention alone, and what does a hot one cost its neighbours?
//
// hot_lines    warps add to the lines of a list, each warp to one: lines of one slice take turns, lines of two do not
// load_lines   one thread loads, each load after the one before, while other blocks keep lines hot
// load_stream  many warps load, four loads in flight a lane, while other blocks keep lines hot
//
// Reference:
//   hot_lines:    for each warp w, for each of its lanes:  word 0 of line[w % lines] += rounds
//   load_lines:   for i in 0 .. reads:  value[i] = word 31 of line read[i]
//   load_stream:  for each warp w, for i in 0 .. loads:  lane's sum += lane's word of line read[(w + i) % reads]
//
// All versions: 256 threads a block. A line is 128 bytes, numbered from the start of `word`. Word 0 of a line is what gets
// hot; word 31 of a line is its number.
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

// ANCHOR: keep_hot
// A load that the L2 answers, whatever the SM holds.
static __device__ __forceinline__ u32 load_l2(const u32* address) {
    u32 value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}

constexpr u32 adds_a_look = 16;
constexpr long long longest = 1 << 28;  // cycles, some 140 ms: a bound for the case that nobody raises `stop`

// Keeps lines hot until `stop` has been raised `readers` times; `adds` counts, a warp at a time.
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

// Changed: the first `hot_blocks` blocks keep lines hot; one thread of another block reads lines that nobody writes.
// Why:     a load waits in the queue of its line's slice, whoever fills it.
// Expect:  a load from a line of the hot slice waits long; one from another slice as long as on an idle GPU.
// ANCHOR: load_lines
extern "C" __global__ void load_lines(u32* word, const u32* line, u32 lines, u32 hot_blocks, u32* stop, u32* adds,
                                      const u32* read, u32 reads, u32 head_start, u32* value, u32* cycles) {
    if (blockIdx.x < hot_blocks) {
        keep_hot(word, line, lines, stop, 1, adds);
        return;
    }
    if (threadIdx.x > 0) {
        return;
    }
    wait(head_start);
    for (u32 i = 0; i < reads; ++i) {
        // No line has the number ~0. The two branches make the clock wait for what was loaded before.
        const u32 at = read[i];
        if (at == ~0u) {
            break;
        }
        const long long began = clock64();
        const u32 found = load_l2(word + u64(at) * words_a_line + number);
        if (found == ~0u) {
            break;
        }
        cycles[i] = u32(clock64() - began);
        value[i] = found;
    }
    atomicAdd(stop, 1u);
}
// ANCHOR_END: load_lines

// Changed: whole blocks read, a line a warp, four in flight a lane.
// Why:     with many loads under way a wait can be hidden; a rate cannot.
// Expect:  loads from the hot slice get what its queue leaves them; loads from other slices lose nothing.
// ANCHOR: load_stream
extern "C" __global__ void load_stream(u32* word, const u32* line, u32 lines, u32 hot_blocks, u32* stop, u32* adds,
                                       const u32* read, u32 reads, u32 loads, u32 head_start, u32* sum, u32* cycles) {
    const u32 readers = gridDim.x - hot_blocks;
    if (blockIdx.x < hot_blocks) {
        keep_hot(word, line, lines, stop, readers, adds);
        return;
    }
    wait(head_start);
    const long long began = clock64();
    const u32 thread = (blockIdx.x - hot_blocks) * block_size + threadIdx.x;
    const u32* own = word + threadIdx.x % warp_size;
    u32 place = thread / warp_size % reads;
    u32 total = 0;
    for (u32 i = 0; i < loads; i += in_flight) {
        u32 value[in_flight];
        for (u32 j = 0; j < in_flight; ++j) {
            value[j] = load_l2(own + u64(read[place]) * words_a_line);
            place = place + 1 < reads ? place + 1 : 0;
        }
        for (u32 j = 0; j < in_flight; ++j) {
            total += value[j];
        }
    }
    sum[thread] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        cycles[thread / block_size] = u32(clock64() - began);
        atomicAdd(stop, 1u);
    }
}
// ANCHOR_END: load_stream
