// compute_70 up: match. One atomic for every distinct key in a warp.
extern "C" __global__ void match_histogram(const unsigned *in, unsigned *bins, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned active = __ballot_sync(~0u, i < n);
    if (i < n) {
        unsigned peers = __match_any_sync(active, in[i]);
        if (threadIdx.x % 32 == __ffs(peers) - 1) atomicAdd(&bins[in[i]], __popc(peers));
    }
}

extern "C" __global__ void match_all(const unsigned long long *in, unsigned *out) {
    int same;
    unsigned mask = __match_all_sync(~0u, in[threadIdx.x], &same);
    out[threadIdx.x] = mask * 2 + same;
}
