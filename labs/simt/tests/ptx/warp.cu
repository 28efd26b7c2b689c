// Warp operations: votes, matches, aggregation by hand and by cooperative groups.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void filter_ballot(const int *in, int *out, unsigned *count, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    bool keep = i < n && in[i] > 0;
    unsigned votes = __ballot_sync(~0u, keep);
    unsigned lane = threadIdx.x % 32, base = 0;
    if (lane == 0 && votes) base = atomicAdd(count, __popc(votes));
    base = __shfl_sync(~0u, base, 0);
    if (keep) out[base + __popc(votes & ((1u << lane) - 1))] = in[i];
}

extern "C" __global__ void filter_activemask(const int *in, int *out, unsigned *count, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 0) {
        unsigned mask = __activemask();
        unsigned leader = __ffs(mask) - 1;
        unsigned below;
        asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
        unsigned base = 0;
        if (threadIdx.x % 32 == leader) base = atomicAdd(count, __popc(mask));
        base = __shfl_sync(mask, base, leader);
        out[base + __popc(mask & below)] = in[i];
    }
}

extern "C" __global__ void filter_coalesced(const int *in, int *out, unsigned *count, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 0) {
        cg::coalesced_group g = cg::coalesced_threads();
        unsigned base = 0;
        if (g.thread_rank() == 0) base = atomicAdd(count, g.size());
        out[g.shfl(base, 0) + g.thread_rank()] = in[i];
    }
}

extern "C" __global__ void filter_plain(const int *in, int *out, unsigned *count, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 0) out[atomicAdd(count, 1u)] = in[i];
}

extern "C" __global__ void tile_sum(const int *in, int *out, unsigned n) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = i < n ? in[i] : 0;
    for (int d = tile.size() / 2; d > 0; d /= 2) v += tile.shfl_xor(v, d);
    if (tile.thread_rank() == 0) atomicAdd(out, v);
}

extern "C" __global__ void votes(const int *in, unsigned *out) {
    int v = in[threadIdx.x];
    unsigned a = __all_sync(~0u, v > 0), b = __any_sync(~0u, v > 100), c = __ballot_sync(~0u, v & 1);
    int up = __shfl_up_sync(~0u, v, 1), down = __shfl_down_sync(~0u, v, 3, 8), idx = __shfl_sync(~0u, v, 5, 16);
    long long wide = __shfl_xor_sync(~0u, (long long)v * 1000000007ll, 9);
    __syncwarp();
    out[threadIdx.x] = a + 2 * b + c + up * 3 + down * 5 + idx * 7 + (unsigned)wide + (unsigned)(wide >> 32);
}

extern "C" __global__ void block_votes(const int *in, int *out) {
    int v = in[threadIdx.x];
    int n = __syncthreads_count(v > 0), a = __syncthreads_and(v > 0), o = __syncthreads_or(v > 5);
    out[threadIdx.x] = n * 4 + a * 2 + o;
}
