// compute_80 up: redux.
extern "C" __global__ void redux_sum(const unsigned *in, unsigned *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = __reduce_add_sync(~0u, i < n ? in[i] : 0);
    if (threadIdx.x % 32 == 0) atomicAdd(out, value);
}

extern "C" __global__ void redux_all(const int *in, int *out) {
    int v = in[threadIdx.x];
    int a = __reduce_min_sync(~0u, v), b = __reduce_max_sync(~0u, v);
    unsigned u = v;
    unsigned c = __reduce_min_sync(~0u, u), d = __reduce_max_sync(~0u, u);
    unsigned e = __reduce_and_sync(~0u, u), f = __reduce_or_sync(~0u, u), g = __reduce_xor_sync(~0u, u);
    if (threadIdx.x == 0) { out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e; out[5] = f; out[6] = g; }
}
