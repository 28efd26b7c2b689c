// needs: sm_80
// Question: how do the 32 values of a warp become one without a round trip through memory?
//
// shared_tree     the lanes fold through shared memory, a warp barrier a step
// shuffle_down    a lane reads the register of the lane `width` above it: five steps, the sum in lane 0
// shuffle_xor     a lane reads its partner's register: the same five steps, the sum in every lane
// reduce_add      one instruction does all of it, for 32-bit integers
// tile_reduce     cooperative groups' reduce over a tile of 32 threads
// partial_mask    a warp that is not full: the mask names the lanes that are there
// absent_lanes    WRONG: the same with a mask that names all 32 lanes
//
// Reference, for each warp:
//   total = 0
//   for round in 0 .. rounds:
//       total += sum of value[lane] over the warp's lanes below n
//       value[lane] = value[lane] * 1664525 + 1013904223 for each lane
//   return total modulo 2^32
//
// All versions: one element a thread, `rounds` reductions in registers, so that what is timed is the fold and not
// memory; `total[warp]` holds the result. The full-warp versions give a lane without an element the value 0 each round.
#include "common.cuh"

#if __CUDA_ARCH__ >= 800
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#endif

constexpr u32 block_size = 256;
constexpr u32 warps_a_block = block_size / warp_size;

// The next value of a lane (Knuth's and Lewis's constants, Numerical Recipes, 2nd edition, section 7.1).
static __device__ __forceinline__ u32 next(u32 value) { return value * 1664525u + 1013904223u; }

static __device__ __forceinline__ u32 thread_index() { return blockIdx.x * block_size + threadIdx.x; }

// Changed: the starting point.
// Why:     shared memory is what a warp has in common, and a warp needs no block barrier.
// Expect:  a store, a barrier and a load at each of five steps.
// ANCHOR: shared_tree
extern "C" __global__ void shared_tree(const u32* in, u32* total, u32 n, u32 rounds) {
    __shared__ u32 value[warps_a_block][warp_size];
    const u32 i = thread_index();
    const u32 lane = threadIdx.x % warp_size;
    u32* mine = value[threadIdx.x / warp_size];
    u32 kept = i < n ? in[i] : 0;
    u32 sum = 0;
    for (u32 round = 0; round < rounds; ++round) {
        mine[lane] = i < n ? kept : 0;
        __syncwarp();
        for (u32 width = warp_size / 2; width > 0; width /= 2) {
            if (lane < width) {
                mine[lane] += mine[lane + width];
            }
            __syncwarp();
        }
        sum += mine[0];
        __syncwarp();
        kept = next(kept);
    }
    if (lane == 0) {
        total[i / warp_size] = sum;
    }
}
// ANCHOR_END: shared_tree

// Changed: the values stay in registers; a shuffle reads another lane's.
// Why:     an exchange of registers needs neither a store nor a load nor a barrier.
// Expect:  five shuffles and five adds a fold.
// ANCHOR: shuffle_down
extern "C" __global__ void shuffle_down(const u32* in, u32* total, u32 n, u32 rounds) {
    const u32 i = thread_index();
    u32 kept = i < n ? in[i] : 0;
    u32 sum = 0;
    for (u32 round = 0; round < rounds; ++round) {
        u32 value = i < n ? kept : 0;
        for (u32 width = warp_size / 2; width > 0; width /= 2) {
            value += __shfl_down_sync(full_warp, value, width);
        }
        sum += value;
        kept = next(kept);
    }
    if (threadIdx.x % warp_size == 0) {
        total[i / warp_size] = sum;
    }
}
// ANCHOR_END: shuffle_down

// Changed: a lane's partner is lane ^ width instead of lane + width.
// Why:     both partners get the sum of both, so after five steps every lane has the total.
// Expect:  the price of shuffle_down, and nobody to tell the others.
// ANCHOR: shuffle_xor
extern "C" __global__ void shuffle_xor(const u32* in, u32* total, u32 n, u32 rounds) {
    const u32 i = thread_index();
    u32 kept = i < n ? in[i] : 0;
    u32 sum = 0;
    for (u32 round = 0; round < rounds; ++round) {
        u32 value = i < n ? kept : 0;
        for (u32 width = warp_size / 2; width > 0; width /= 2) {
            value += __shfl_xor_sync(full_warp, value, width);
        }
        sum += value;
        kept = next(kept);
    }
    if (threadIdx.x % warp_size == 0) {
        total[i / warp_size] = sum;
    }
}
// ANCHOR_END: shuffle_xor

#if __CUDA_ARCH__ >= 800
// Changed: __reduce_add_sync instead of five steps; compute capability 8.0 and up, 32-bit integers only.
// Why:     the hardware has an instruction for it, REDUX.
// Expect:  one instruction a fold; every lane gets the sum.
// ANCHOR: reduce_add
extern "C" __global__ void reduce_add(const u32* in, u32* total, u32 n, u32 rounds) {
    const u32 i = thread_index();
    u32 kept = i < n ? in[i] : 0;
    u32 sum = 0;
    for (u32 round = 0; round < rounds; ++round) {
        sum += __reduce_add_sync(full_warp, i < n ? kept : 0);
        kept = next(kept);
    }
    if (threadIdx.x % warp_size == 0) {
        total[i / warp_size] = sum;
    }
}
// ANCHOR_END: reduce_add

// Changed: the library's name for it.
// Why:     it picks the instruction where there is one, and works for any type and operation.
// Expect:  the instructions of reduce_add.
// ANCHOR: tile_reduce
extern "C" __global__ void tile_reduce(const u32* in, u32* total, u32 n, u32 rounds) {
    namespace cg = cooperative_groups;
    const auto tile = cg::tiled_partition<warp_size>(cg::this_thread_block());
    const u32 i = thread_index();
    u32 kept = i < n ? in[i] : 0;
    u32 sum = 0;
    for (u32 round = 0; round < rounds; ++round) {
        sum += cg::reduce(tile, i < n ? kept : 0, cg::plus<u32>());
        kept = next(kept);
    }
    if (tile.thread_rank() == 0) {
        total[i / warp_size] = sum;
    }
}
// ANCHOR_END: tile_reduce
#endif

// Changed: threads without an element leave; a ballot taken before says who stays, and nobody reads beyond them.
// Why:     a mask must name exactly the lanes that will execute the shuffle.
// Expect:  the price of shuffle_down and a comparison a step; right for any n.
// ANCHOR: partial_mask
extern "C" __global__ void partial_mask(const u32* in, u32* total, u32 n, u32 rounds) {
    const u32 i = thread_index();
    const u32 lane = threadIdx.x % warp_size;
    const u32 mask = __ballot_sync(full_warp, i < n);
    if (i >= n) {
        return;
    }
    const u32 lanes = __popc(mask);
    u32 kept = in[i];
    u32 sum = 0;
    for (u32 round = 0; round < rounds; ++round) {
        u32 value = kept;
        for (u32 width = warp_size / 2; width > 0; width /= 2) {
            const u32 above = __shfl_down_sync(mask, value, width);
            value += lane + width < lanes ? above : 0;
        }
        sum += value;
        kept = next(kept);
    }
    if (lane == 0) {
        total[i / warp_size] = sum;
    }
}
// ANCHOR_END: partial_mask

// Changed: the mask says 32 lanes, some of which have left.
// Why:     it is the mask of every example, and nothing complains.
// Expect:  undefined: a lane may read anything from a lane that is not there.
// ANCHOR: absent_lanes
extern "C" __global__ void absent_lanes(const u32* in, u32* total, u32 n, u32 rounds) {
    const u32 i = thread_index();
    if (i >= n) {
        return;
    }
    u32 kept = in[i];
    u32 sum = 0;
    for (u32 round = 0; round < rounds; ++round) {
        u32 value = kept;
        for (u32 width = warp_size / 2; width > 0; width /= 2) {
            value += __shfl_down_sync(full_warp, value, width);
        }
        sum += value;
        kept = next(kept);
    }
    if (threadIdx.x % warp_size == 0) {
        total[i / warp_size] = sum;
    }
}
// ANCHOR_END: absent_lanes
