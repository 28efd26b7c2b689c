// Every atomic of CUDA C++, with and without a use of its result, and libcu++'s.
#include <cuda/atomic>

extern "C" __global__ void every_op(unsigned *u, int *s, unsigned long long *w, long long *sw, float *f, double *d, unsigned *out) {
    unsigned t = threadIdx.x;
    atomicAdd(&u[0], t); atomicSub(&u[1], t); atomicMin(&u[2], t); atomicMax(&u[3], t); atomicAnd(&u[4], ~t);
    atomicOr(&u[5], t); atomicXor(&u[6], t); atomicInc(&u[7], 40); atomicDec(&u[8], 40);
    atomicExch(&u[9], t); atomicCAS(&u[10], t, t + 1);
    atomicAdd(&s[0], -(int)t); atomicMin(&s[1], -(int)t); atomicMax(&s[2], (int)t - 7);
    atomicAdd(&w[0], (unsigned long long)t << 30); atomicMin(&w[1], t); atomicMax(&w[2], t); atomicAnd(&w[3], ~(unsigned long long)t);
    atomicOr(&w[4], t); atomicXor(&w[5], t); atomicExch(&w[6], t); atomicCAS(&w[7], t, t + 1);
    atomicMin(&sw[0], -(long long)t); atomicMax(&sw[1], (long long)t);
    atomicAdd(&f[0], 0.5f); atomicAdd(&d[0], 0.25);
    out[t] = atomicAdd(&u[11], 1u) + atomicMax(&u[12], t) + atomicCAS(&u[13], 0u, t) + (unsigned)atomicAdd(&w[8], 1ull);
}

extern "C" __global__ void every_shared(unsigned *out, double *dout) {
    __shared__ unsigned u[8]; __shared__ unsigned long long w[4]; __shared__ float f[2]; __shared__ double d[2];
    unsigned t = threadIdx.x;
    if (t < 8) u[t] = 0; if (t < 4) w[t] = 0; if (t < 2) { f[t] = 0; d[t] = 0; }
    __syncthreads();
    atomicAdd(&u[0], t); atomicMax(&u[1], t); atomicOr(&u[2], t); atomicExch(&u[3], t); atomicCAS(&u[4], 0u, 9u); atomicInc(&u[5], 10);
    atomicAdd(&u[6], 1u); atomicAdd(&w[0], (unsigned long long)t << 33); atomicMax(&w[1], t); atomicCAS(&w[2], 0, 5);
    atomicAdd(&f[0], 0.25f); atomicAdd(&d[0], 0.125);
    __syncthreads();
    if (t < 8) out[t] = u[t]; if (t < 4) out[8 + t] = (unsigned)(w[t] >> 10); if (t < 2) dout[t] = f[t] + d[t];
}

extern "C" __global__ void scopes(unsigned *u, unsigned long long *w) {
    atomicAdd_block(&u[0], 1u); atomicAdd_system(&u[1], 1u); atomicCAS_block(&u[2], 0u, 1u); atomicMax_system(&w[0], 3ull);
}

extern "C" __global__ void atomic_ref_sum(const unsigned *in, unsigned *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*out).fetch_add(in[i], cuda::memory_order_relaxed);
}

extern "C" __global__ void atomic_ref_orders(unsigned *a, unsigned long long *b, unsigned *out) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_block> blk(a[0]);
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> dev(a[1]);
    cuda::atomic_ref<unsigned, cuda::thread_scope_system> sys(a[2]);
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> wide(b[0]);
    unsigned r = blk.fetch_add(1, cuda::memory_order_acquire);
    r += dev.fetch_max(threadIdx.x, cuda::memory_order_release);
    r += sys.fetch_or(1, cuda::memory_order_acq_rel);
    r += dev.exchange(5);
    r += (unsigned)wide.fetch_add(2, cuda::memory_order_seq_cst);
    r += dev.load(cuda::memory_order_acquire) + blk.load(cuda::memory_order_relaxed) + sys.load();
    dev.store(7, cuda::memory_order_release); blk.store(1, cuda::memory_order_relaxed); sys.store(3);
    unsigned expected = 7;
    r += dev.compare_exchange_strong(expected, 9, cuda::memory_order_acq_rel);
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
    cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_block);
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
    out[threadIdx.x] = r + expected;
}

extern "C" __global__ void cas_max_float(const float *in, int *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int old = *(volatile int *)out;
    while (__int_as_float(old) < in[i]) {
        int seen = atomicCAS(out, old, __float_as_int(in[i]));
        if (seen == old) break;
        old = seen;
    }
}

extern "C" __global__ void cas_add(unsigned *out, unsigned rounds) {
    for (unsigned k = 0; k < rounds; ++k) {
        unsigned old = *(volatile unsigned *)out, seen;
        while ((seen = atomicCAS(out, old, old + 1)) != old) old = seen;
    }
}
