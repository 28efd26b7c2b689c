// Question: how does a scan read its input only once, when every element needs the sum of all before it?
//
// three_pass      the tiles' sums, their scan, a second reading: three launches, no waiting
// chained_prefix  one launch: a tile waits for the prefix of the one before it
// released_flag   decoupled look-back: a tile adds up what the tiles before it publish; a flag, released and acquired,
//                 says that a sum is there
// relaxed_flag    wrong: the flag is atomic, and orders nothing
// block_scope     wrong: the flag is released and acquired for threads of the same block only
// packed_word     flag and sum in one word of 64 bits: they arrive together, and no order is needed
// block_index     wrong: the block's index, not a ticket, says which tile it scans
// warp_window     a warp looks at 32 tiles at once
// separate_warp   the warp that looks back holds no elements and begins while the others load; nothing needs a reset
// held_in_shared  the same with twice the elements a thread: most of them wait in shared memory
//
// Reference:
//   sum = 0
//   for i in 0 .. n:
//       sum = sum + in[i] modulo 2^32
//       out[i] = sum
//
// All versions: any n from 0 up; `in` and `out` are aligned to 16 bytes and apart; a block scans a tile of neighbouring
// elements. Before a launch the ticket and the flags (or words) are 0, for the last two only before the first launch.
// Every wait ends by the clock: what is never published makes a fault, not a hang.
#include "common.cuh"

constexpr u32 block_size = 256;
constexpr u32 warps_a_block = block_size / warp_size;
constexpr u32 quads_a_thread = 4;                          // 16-byte loads of a thread
constexpr u32 row = warp_size * 4;                         // elements of one 16-byte load of a warp
constexpr u32 tile_size = block_size * quads_a_thread * 4;

// What a tile has published.
constexpr u32 nothing = 0;
constexpr u32 sum_there = 1;     // the sum of its own elements
constexpr u32 prefix_there = 2;  // the sum of all elements up to its last

// Places in `faults`.
constexpr u32 differing = 0;  // elements that the check finds wrong
constexpr u32 given_up = 1;   // waits that the clock has ended

// ANCHOR: tile
// A thread's first element in its tile: a warp has its own stretch of rows, and a lane four elements of each.
template <u32 quads> static __device__ __forceinline__ u32 place_in_tile() {
    return threadIdx.x / warp_size * (quads * row) + threadIdx.x % warp_size * 4;
}

static __device__ __forceinline__ uint4 plus(uint4 quad, u32 sum) {
    return make_uint4(quad.x + sum, quad.y + sum, quad.z + sum, quad.w + sum);
}

// Past the end of the input stand zeros. `further` moves the warp's stretch.
template <u32 quads>
static __device__ __forceinline__ void load_tile(const u32* in, u64 n, u64 tile, u64 size, uint4 (&quad)[quads],
                                                 u32 further = 0) {
    const u64 first = tile * size + place_in_tile<quads>() + further;
    if ((tile + 1) * size <= n) {
        const uint4* place = reinterpret_cast<const uint4*>(in + first);
#pragma unroll
        for (u32 q = 0; q < quads; ++q) {
            quad[q] = place[q * warp_size];
        }
        return;
    }
#pragma unroll
    for (u32 q = 0; q < quads; ++q) {
        const u64 i = first + q * row;
        quad[q].x = i < n ? in[i] : 0;
        quad[q].y = i + 1 < n ? in[i + 1] : 0;
        quad[q].z = i + 2 < n ? in[i + 2] : 0;
        quad[q].w = i + 3 < n ? in[i + 3] : 0;
    }
}

// Adds what comes before. `streamed` stores are marked as not read again soon.
template <u32 quads, bool streamed = false>
static __device__ __forceinline__ void store_tile(u32* out, u64 n, u64 tile, u64 size, const uint4 (&quad)[quads],
                                                  u32 before, u32 further = 0) {
    const u64 first = tile * size + place_in_tile<quads>() + further;
    if ((tile + 1) * size <= n) {
        uint4* place = reinterpret_cast<uint4*>(out + first);
#pragma unroll
        for (u32 q = 0; q < quads; ++q) {
            if (streamed) {
                __stcs(place + q * warp_size, plus(quad[q], before));
            } else {
                place[q * warp_size] = plus(quad[q], before);
            }
        }
        return;
    }
#pragma unroll
    for (u32 q = 0; q < quads; ++q) {
        const u64 i = first + q * row;
        const uint4 sum = plus(quad[q], before);
        if (i < n) out[i] = sum.x;
        if (i + 1 < n) out[i + 1] = sum.y;
        if (i + 2 < n) out[i + 2] = sum.z;
        if (i + 3 < n) out[i + 3] = sum.w;
    }
}

// Scans what the warp holds, row by row; returns its sum.
template <u32 quads> static __device__ __forceinline__ u32 scan_warp(uint4 (&quad)[quads]) {
    const u32 lane = threadIdx.x % warp_size;
    u32 up_to[quads];  // the row's sum up to this lane
#pragma unroll
    for (u32 q = 0; q < quads; ++q) {
        quad[q].y += quad[q].x;
        quad[q].z += quad[q].y;
        quad[q].w += quad[q].z;
        up_to[q] = quad[q].w;
    }
#pragma unroll
    for (u32 distance = 1; distance < warp_size; distance *= 2) {
#pragma unroll
        for (u32 q = 0; q < quads; ++q) {
            const u32 below = __shfl_up_sync(full_warp, up_to[q], distance);
            up_to[q] += lane >= distance ? below : 0;
        }
    }
    u32 before = 0;
#pragma unroll
    for (u32 q = 0; q < quads; ++q) {
        const u32 below = before + up_to[q] - quad[q].w;
        before += __shfl_sync(full_warp, up_to[q], warp_size - 1);
        quad[q] = plus(quad[q], below);
    }
    return before;
}

// The sum of the warps before this one; `*all` becomes the block's. `sum` is this warp's.
static __device__ __forceinline__ u32 sum_before(u32 sum, u32* all) {
    __shared__ __align__(16) u32 sums[warps_a_block];  // loaded four at a time, and nothing beside them
    const u32 warp = threadIdx.x / warp_size;
    if (threadIdx.x % warp_size == 0) {
        sums[warp] = sum;
    }
    __syncthreads();
    u32 before = 0;
    *all = 0;
#pragma unroll
    for (u32 other = 0; other < warps_a_block; ++other) {
        before += other < warp ? sums[other] : 0;
        *all += sums[other];
    }
    return before;
}

// Loads and scans a tile; returns the sum of the warps before this one, and the tile's in `*sum`.
static __device__ __forceinline__ u32 scan_tile(const u32* in, u64 n, u32 tile, uint4 (&quad)[quads_a_thread],
                                                u32* sum) {
    load_tile(in, n, tile, tile_size, quad);
    return sum_before(scan_warp(quad), sum);
}
// ANCHOR_END: tile

// ANCHOR: waiting
// Ends a wait by the clock: a GPU has no other way to tell a long wait from one without end.
class Patience {
  public:
    __device__ Patience(u64 ns, u32* faults) : ns_(ns), faults_(faults) {}
    // Whether to look once more. The clock is first read when something was not there at once.
    __device__ bool goes_on() {
        u64 now;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        if (end_ == 0) {
            end_ = now + ns_;
        }
        if (now > end_) {
            atomicAdd(&faults_[given_up], 1u);
            return false;
        }
        return true;
    }

  private:
    u64 ns_;
    u32* faults_;
    u64 end_ = 0;
};
// ANCHOR_END: waiting

// ANCHOR: words
// Loads and stores that are atomic; what they say of order and scope is in their names.
static __device__ __forceinline__ void store_release_device(u32* word, u32 value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

static __device__ __forceinline__ u32 load_acquire_device(const u32* word) {
    u32 value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

static __device__ __forceinline__ void store_release_block(u32* word, u32 value) {
    asm volatile("st.release.cta.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

static __device__ __forceinline__ u32 load_acquire_block(const u32* word) {
    u32 value;
    asm volatile("ld.acquire.cta.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

static __device__ __forceinline__ void store_relaxed_device(u32* word, u32 value) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

static __device__ __forceinline__ u32 load_relaxed_device(const u32* word) {
    u32 value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

// What a tile publishes in one word: the state in the upper half, the sum in the lower.
static __device__ __forceinline__ void publish(u64* word, u32 state, u32 sum) {
    const u64 both = u64(state) << 32 | sum;
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(both) : "memory");
}

static __device__ __forceinline__ u32 look_at(const u64* word, u32* state) {
    u64 both;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(both) : "l"(word) : "memory");
    *state = u32(both >> 32);
    return u32(both);
}
// ANCHOR_END: words

// Changed: the starting point.
// Why:     what a tile must add is known before it is scanned, and no block waits for another.
// Expect:  the input is read twice: three transfers of four bytes an element, where a copy has two.
// ANCHOR: three_pass
extern "C" __global__ void tile_sums(const u32* in, u32* sums, u64 n) {
    uint4 quad[quads_a_thread];
    u32 sum;
    scan_tile(in, n, blockIdx.x, quad, &sum);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
    }
}

// One block. Turns every tile's sum into the sum of the tiles up to it.
extern "C" __global__ void scan_sums(u32* sums, u32 tiles) {
    u32 carried = 0;
    for (u32 first = 0; first < tiles; first += tile_size) {
        uint4 quad[quads_a_thread];
        u32 all;
        const u32 before = carried + scan_tile(sums, tiles, first / tile_size, quad, &all);
        store_tile(sums, tiles, first / tile_size, tile_size, quad, before);
        carried += all;
        __syncthreads();
    }
}

extern "C" __global__ void scan_tiles(const u32* in, u32* out, const u32* sums, u64 n) {
    uint4 quad[quads_a_thread];
    u32 sum;
    const u32 before = blockIdx.x == 0 ? 0 : sums[blockIdx.x - 1];
    const u32 below = scan_tile(in, n, blockIdx.x, quad, &sum);
    store_tile(out, n, blockIdx.x, tile_size, quad, before + below);
}
// ANCHOR_END: three_pass

// Changed: one launch. A block takes the next tile by ticket and waits until the tile before it has its prefix.
// Why:     the input is read once. Whoever holds an earlier ticket has begun, so what is waited for will come.
// Expect:  a queue of all tiles: each waits for a word that the one before can write only when its own wait is over.
// ANCHOR: chained_prefix
extern "C" __global__ void chained_prefix(const u32* in, u32* out, u32* ticket, u64* words, u32* faults, u64 n,
                                          u64 patience) {
    __shared__ u32 tile;
    __shared__ u32 before;
    if (threadIdx.x == 0) {
        tile = atomicAdd(ticket, 1u);
    }
    __syncthreads();
    uint4 quad[quads_a_thread];
    u32 sum;
    const u32 below = scan_tile(in, n, tile, quad, &sum);
    if (threadIdx.x == 0) {
        Patience wait(patience, faults);
        u32 earlier = 0;
        u32 state = tile == 0 ? prefix_there : nothing;
        while (state != prefix_there) {
            earlier = look_at(&words[tile - 1], &state);
            if (state != prefix_there && !wait.goes_on()) {
                break;
            }
        }
        publish(&words[tile], prefix_there, earlier + sum);
        before = earlier;
    }
    __syncthreads();
    store_tile(out, n, tile, tile_size, quad, before + below);
}
// ANCHOR_END: chained_prefix

// Changed: a tile publishes its own sum at once, then adds up what the tiles before it have published, back to the first
//          that has a prefix. Sums and prefixes are plain words; a flag for each tile says which of them is written.
// Why:     nobody waits for another's wait: a sum is there as soon as its tile is loaded.
// Expect:  many tiles get on at once. The flag's release makes the sum visible to whoever acquires it.
// ANCHOR: released_flag
extern "C" __global__ void released_flag(const u32* in, u32* out, u32* ticket, u32* flags, u32* sums, u32* prefixes,
                                         u32* faults, u64 n, u64 patience) {
    __shared__ u32 tile;
    __shared__ u32 before;
    if (threadIdx.x == 0) {
        tile = atomicAdd(ticket, 1u);
    }
    __syncthreads();
    uint4 quad[quads_a_thread];
    u32 sum;
    const u32 below = scan_tile(in, n, tile, quad, &sum);
    if (threadIdx.x == 0) {
        sums[tile] = sum;
        store_release_device(&flags[tile], sum_there);  // with the load below
        Patience wait(patience, faults);
        u32 earlier = 0;
        u32 flag = nothing;
        for (u32 other = tile; other > 0 && flag != prefix_there; --other) {
            do {
                flag = load_acquire_device(&flags[other - 1]);  // with both stores
            } while (flag == nothing && wait.goes_on());
            if (flag == nothing) {
                break;
            }
            earlier += flag == prefix_there ? prefixes[other - 1] : sums[other - 1];
        }
        prefixes[tile] = earlier + sum;
        store_release_device(&flags[tile], prefix_there);  // with the load above
        before = earlier;
    }
    __syncthreads();
    store_tile(out, n, tile, tile_size, quad, before + below);
}
// ANCHOR_END: released_flag

// Changed: wrong. The flag is relaxed: atomic, and without order.
// Why:     it looks the same, and the flag itself is never torn or lost.
// Expect:  whoever sees the flag may read the plain word as it was before. A race.
// ANCHOR: relaxed_flag
extern "C" __global__ void relaxed_flag(const u32* in, u32* out, u32* ticket, u32* flags, u32* sums, u32* prefixes,
                                        u32* faults, u64 n, u64 patience) {
    __shared__ u32 tile;
    __shared__ u32 before;
    if (threadIdx.x == 0) {
        tile = atomicAdd(ticket, 1u);
    }
    __syncthreads();
    uint4 quad[quads_a_thread];
    u32 sum;
    const u32 below = scan_tile(in, n, tile, quad, &sum);
    if (threadIdx.x == 0) {
        sums[tile] = sum;
        store_relaxed_device(&flags[tile], sum_there);
        Patience wait(patience, faults);
        u32 earlier = 0;
        u32 flag = nothing;
        for (u32 other = tile; other > 0 && flag != prefix_there; --other) {
            do {
                flag = load_relaxed_device(&flags[other - 1]);
            } while (flag == nothing && wait.goes_on());
            if (flag == nothing) {
                break;
            }
            earlier += flag == prefix_there ? prefixes[other - 1] : sums[other - 1];
        }
        prefixes[tile] = earlier + sum;
        store_relaxed_device(&flags[tile], prefix_there);
        before = earlier;
    }
    __syncthreads();
    store_tile(out, n, tile, tile_size, quad, before + below);
}
// ANCHOR_END: relaxed_flag

// Changed: wrong. Release and acquire are for threads of the same block; the flag goes from block to block.
// Why:     one word less to pay for, and it compiles.
// Expect:  no order between blocks, and the flag may be looked for in a cache that nobody else writes to.
// ANCHOR: block_scope
extern "C" __global__ void block_scope(const u32* in, u32* out, u32* ticket, u32* flags, u32* sums, u32* prefixes,
                                       u32* faults, u64 n, u64 patience) {
    __shared__ u32 tile;
    __shared__ u32 before;
    if (threadIdx.x == 0) {
        tile = atomicAdd(ticket, 1u);
    }
    __syncthreads();
    uint4 quad[quads_a_thread];
    u32 sum;
    const u32 below = scan_tile(in, n, tile, quad, &sum);
    if (threadIdx.x == 0) {
        sums[tile] = sum;
        store_release_block(&flags[tile], sum_there);
        Patience wait(patience, faults);
        u32 earlier = 0;
        u32 flag = nothing;
        for (u32 other = tile; other > 0 && flag != prefix_there; --other) {
            do {
                flag = load_acquire_block(&flags[other - 1]);
            } while (flag == nothing && wait.goes_on());
            if (flag == nothing) {
                break;
            }
            earlier += flag == prefix_there ? prefixes[other - 1] : sums[other - 1];
        }
        prefixes[tile] = earlier + sum;
        store_release_block(&flags[tile], prefix_there);
        before = earlier;
    }
    __syncthreads();
    store_tile(out, n, tile, tile_size, quad, before + below);
}
// ANCHOR_END: block_scope

// Changed: from released_flag: state and sum travel in one word.
// Why:     64 bits are stored and loaded whole. Nothing else is handed over, so nothing needs an order.
// Expect:  one round trip a tile looked at, where a flag and its word take two, and no fence.
// ANCHOR: packed_word
// Adds up what is published before `tile`, one tile after the other, back to the nearest prefix.
static __device__ __forceinline__ u32 look_back(const u64* words, u32 tile, u32* faults, u64 patience) {
    Patience wait(patience, faults);
    u32 earlier = 0;
    u32 state = nothing;
    for (u32 other = tile; other > 0 && state != prefix_there; --other) {
        u32 sum;
        do {
            sum = look_at(&words[other - 1], &state);
        } while (state == nothing && wait.goes_on());
        if (state == nothing) {
            break;
        }
        earlier += sum;
    }
    return earlier;
}

extern "C" __global__ void packed_word(const u32* in, u32* out, u32* ticket, u64* words, u32* faults, u64 n,
                                       u64 patience) {
    __shared__ u32 tile;
    __shared__ u32 before;
    if (threadIdx.x == 0) {
        tile = atomicAdd(ticket, 1u);
    }
    __syncthreads();
    uint4 quad[quads_a_thread];
    u32 sum;
    const u32 below = scan_tile(in, n, tile, quad, &sum);
    if (threadIdx.x == 0) {
        publish(&words[tile], sum_there, sum);
        before = look_back(words, tile, faults, patience);
        publish(&words[tile], prefix_there, before + sum);
    }
    __syncthreads();
    store_tile(out, n, tile, tile_size, quad, before + below);
}
// ANCHOR_END: packed_word

// Changed: wrong. The block's index says which tile it scans.
// Why:     the ticket costs a round trip, and blocks seem to start in the order of their indices.
// Expect:  nobody promises that order. Where a block that waits holds the place of one that has not begun, both stay.
// ANCHOR: block_index
extern "C" __global__ void block_index(const u32* in, u32* out, u32* ticket, u64* words, u32* faults, u64 n,
                                       u64 patience) {
    const u32 tile = blockIdx.x;
    __shared__ u32 before;
    uint4 quad[quads_a_thread];
    u32 sum;
    const u32 below = scan_tile(in, n, tile, quad, &sum);
    if (threadIdx.x == 0) {
        publish(&words[tile], sum_there, sum);
        before = look_back(words, tile, faults, patience);
        publish(&words[tile], prefix_there, before + sum);
    }
    __syncthreads();
    store_tile(out, n, tile, tile_size, quad, before + below);
}
// ANCHOR_END: block_index

// ANCHOR: warp_window
// As look_back, 32 tiles at a time: the nearest to lane 0. `launch` is 0, or what tells this launch's words from older
// ones. All lanes get the sum.
static __device__ __forceinline__ u32 look_back_by_warp(const u64* words, u32 tile, u32 launch, u32* faults,
                                                        u64 patience) {
    const u32 lane = threadIdx.x % warp_size;
    Patience wait(patience, faults);
    u32 earlier = 0;
    for (u32 end = tile; end > 0;) {
        const bool inside = lane < end;
        // Before the first tile stands a prefix of nothing.
        u32 state = inside ? nothing : prefix_there;
        u32 sum = 0;
        u32 wanted;  // the lanes up to the nearest prefix
        u32 prefixes;
        while (true) {
            if (inside && state == nothing) {
                sum = look_at(&words[end - 1 - lane], &state);
                state -= launch;
                state = state <= prefix_there ? state : nothing;
            }
            const u32 there = __ballot_sync(full_warp, state != nothing);
            prefixes = __ballot_sync(full_warp, state == prefix_there);
            wanted = prefixes ^ (prefixes - 1);
            if ((there & wanted) == wanted || !__all_sync(full_warp, wait.goes_on())) {
                break;
            }
            __nanosleep(100);  // others load meanwhile
        }
        earlier += wanted >> lane & 1 ? sum : 0;
        end = prefixes != 0 || end < warp_size ? 0 : end - warp_size;
    }
#pragma unroll
    for (u32 distance = warp_size / 2; distance > 0; distance /= 2) {
        earlier += __shfl_xor_sync(full_warp, earlier, distance);
    }
    return earlier;
}

// Changed: from packed_word: a warp looks back, not a thread.
// Why:     32 words come in the time of one.
// Expect:  a tile gets on after one look or two.
extern "C" __global__ void warp_window(const u32* in, u32* out, u32* ticket, u64* words, u32* faults, u64 n,
                                       u64 patience) {
    __shared__ u32 tile;
    __shared__ u32 before;
    if (threadIdx.x == 0) {
        tile = atomicAdd(ticket, 1u);
    }
    __syncthreads();
    uint4 quad[quads_a_thread];
    u32 sum;
    const u32 below = scan_tile(in, n, tile, quad, &sum);
    if (threadIdx.x < warp_size) {
        if (threadIdx.x == 0) {
            publish(&words[tile], sum_there, sum);
        }
        const u32 earlier = look_back_by_warp(words, tile, 0, faults, patience);
        if (threadIdx.x == 0) {
            publish(&words[tile], prefix_there, earlier + sum);
            before = earlier;
        }
    }
    __syncthreads();
    store_tile(out, n, tile, tile_size, quad, before + below);
}
// ANCHOR_END: warp_window

// ANCHOR: separate_warp
// Threads that an SM has: as many blocks as it can hold are to fit by their registers, too.
constexpr bool small_sm = __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200;
constexpr u32 threads_a_sm = __CUDA_ARCH__ < 800 ? 1024 : small_sm ? 1536 : 2048;

// As sum_before, among the warps that hold elements: the one that looks back is not waited for.
template <u32 holders> static __device__ __forceinline__ u32 sum_before_among_holders(u32 sum, u32* all) {
    __shared__ __align__(16) u32 sums[holders];
    const u32 lane = threadIdx.x % warp_size;
    const u32 warp = threadIdx.x / warp_size;
    if (lane == 0) {
        sums[warp] = sum;
    }
    asm volatile("bar.sync 1, %0;" ::"n"(holders * warp_size) : "memory");
    u32 up_to = lane < holders ? sums[lane] : 0;
#pragma unroll
    for (u32 distance = 1; distance < holders; distance *= 2) {
        const u32 below = __shfl_up_sync(full_warp, up_to, distance);
        up_to += lane >= distance ? below : 0;
    }
    *all = __shfl_sync(full_warp, up_to, holders - 1);
    const u32 before = __shfl_sync(full_warp, up_to, warp - 1);
    return warp == 0 ? 0 : before;
}

// Takes a ticket. The upper half of their word counts launches; whoever takes a launch's last ticket begins the next.
static __device__ __forceinline__ u64 take_ticket(u64* tickets) {
    const u64 ticket = atomicAdd(tickets, 1ull);
    if (u32(ticket) == gridDim.x - 1) {
        atomicExch(tickets, (ticket >> 32) + 1 << 32);
    }
    return ticket;
}

// A block of so many warps that hold elements, and one more, which looks back. A thread has `batches` batches of quads,
// one in registers, the others in its part of shared memory.
template <u32 holders, u32 quads, u32 batches>
static __device__ __forceinline__ void scan_beside_look_back(const u32* in, u32* out, u64* tickets, u64* words,
                                                             u32* faults, u64 n, u64 patience) {
    constexpr u32 threads = holders * warp_size;
    constexpr u32 stretch = quads * row;  // of a warp, in one batch
    constexpr u32 size = holders * batches * stretch;
    __shared__ uint4 held[batches > 1 ? (batches - 1) * quads * threads : 1];
    __shared__ u64 ticket;
    __shared__ u32 before;
    if (threadIdx.x == threads) {
        ticket = take_ticket(tickets);
    }
    __syncthreads();
    const u32 tile = u32(ticket);
    const u32 launch = u32(ticket >> 32) << 2;
    if (threadIdx.x >= threads) {
        const u32 earlier = look_back_by_warp(words, tile, launch, faults, patience);
        if (threadIdx.x == threads) {
            before = earlier;
        }
        __syncthreads();
        return;
    }
    const u32 further = threadIdx.x / warp_size * (batches - 1) * stretch;
    uint4 quad[quads];
    u32 so_far = 0;  // of the warp
#pragma unroll
    for (u32 batch = 0; batch < batches; ++batch) {
        load_tile(in, n, tile, size, quad, further + batch * stretch);
        const u32 here = scan_warp(quad);
#pragma unroll
        for (u32 q = 0; q < quads; ++q) {
            quad[q] = plus(quad[q], so_far);
            if (batch + 1 < batches) {
                held[(batch * quads + q) * threads + threadIdx.x] = quad[q];
            }
        }
        so_far += here;
        __syncwarp();  // or the compiler loads the next batch earlier, into registers that are not there
    }
    u32 sum;
    const u32 below = sum_before_among_holders<holders>(so_far, &sum);
    if (threadIdx.x == 0) {
        publish(&words[tile], launch | sum_there, sum);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        publish(&words[tile], launch | prefix_there, before + sum);
    }
    store_tile<quads, true>(out, n, tile, size, quad, before + below, further + (batches - 1) * stretch);
#pragma unroll
    for (u32 batch = 0; batch + 1 < batches; ++batch) {
#pragma unroll
        for (u32 q = 0; q < quads; ++q) {
            quad[q] = held[(batch * quads + q) * threads + threadIdx.x];
        }
        store_tile<quads, true>(out, n, tile, size, quad, before + below, further + batch * stretch);
        __syncwarp();
    }
}

// Changed: from warp_window: one warp more, which looks back while the others load and scan. The word of the tickets
//          counts launches in its upper half, and so does every published word, so that old words say nothing. What
//          is stored is marked as not read again.
// Why:     the look-back needs nothing of the tile's own, and a reset is a launch of its own.
// Expect:  what is waited for is there when the tile is scanned; the memory sets the pace.
constexpr u32 wide_block = 512;
extern "C" __global__ void __launch_bounds__(wide_block, threads_a_sm / wide_block)
    separate_warp(const u32* in, u32* out, u64* tickets, u64* words, u32* faults, u64 n, u64 patience) {
    scan_beside_look_back<15, 4, 1>(in, out, tickets, words, faults, n, patience);
}
// ANCHOR_END: separate_warp

// Changed: a thread has 32 elements instead of 16. They come in four batches of two quads, and what is scanned waits in
//          shared memory.
// Why:     a tile that waits for those before it loads nothing. What is on its way meanwhile is what the SM's other
//          blocks have room for, and registers are not all the room there is.
// Expect:  nearer to the copy where the input is large; later where one tile is all there is to wait for.
// ANCHOR: held_in_shared
extern "C" __global__ void __launch_bounds__(wide_block, threads_a_sm / wide_block)
    held_in_shared(const u32* in, u32* out, u64* tickets, u64* words, u32* faults, u64 n, u64 patience) {
    scan_beside_look_back<15, 2, 4>(in, out, tickets, words, faults, n, patience);
}
// ANCHOR_END: held_in_shared

// The roofline: reads and writes what a scan must, four elements a thread, and does nothing else.
// ANCHOR: copy
constexpr u32 copy_size = block_size * 4;

extern "C" __global__ void copy(const u32* in, u32* out, u64 n) {
    uint4 quad[1];
    load_tile(in, n, blockIdx.x, copy_size, quad);
    store_tile(out, n, blockIdx.x, copy_size, quad, 0);
}
// ANCHOR_END: copy

// The check, run after every sample: an output is the scan if each element is the one before it plus its own input.
extern "C" __global__ void check_scan(const u32* in, const u32* out, u32* faults, u64 n) {
    const u64 stride = u64(gridDim.x) * block_size;
    for (u64 i = u64(blockIdx.x) * block_size + threadIdx.x; i < n; i += stride) {
        const u32 before = i == 0 ? 0 : out[i - 1];
        if (out[i] != before + in[i]) {
            atomicAdd(&faults[differing], 1u);
        }
    }
}
