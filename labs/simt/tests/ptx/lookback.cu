// A scan in one pass: each block waits for what the ones before it publish.
extern "C" __global__ void lookback(const unsigned *in, unsigned *out, unsigned long long *state, unsigned *ticket, unsigned n) {
    __shared__ unsigned tile, prefix, part[256];
    if (threadIdx.x == 0) tile = atomicAdd(ticket, 1u);
    __syncthreads();
    unsigned i = tile * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned d = 1; d < blockDim.x; d *= 2) {
        unsigned v = threadIdx.x >= d ? part[threadIdx.x - d] : 0;
        __syncthreads();
        part[threadIdx.x] += v;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        unsigned total = part[blockDim.x - 1], before = 0;
        unsigned long long own = (tile == 0 ? 2ull : 1ull) << 32 | total;
        asm volatile("st.release.gpu.global.u64 [%0], %1;" :: "l"(state + tile), "l"(own) : "memory");
        for (int t = (int)tile - 1; t >= 0;) {
            unsigned long long seen;
            asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(seen) : "l"(state + t) : "memory");
            if (seen >> 32 == 0) continue;
            before += (unsigned)seen;
            if (seen >> 32 == 2) break;
            --t;
        }
        own = 2ull << 32 | (before + total);
        asm volatile("st.release.gpu.global.u64 [%0], %1;" :: "l"(state + tile), "l"(own) : "memory");
        prefix = before;
    }
    __syncthreads();
    if (i < n) out[i] = prefix + part[threadIdx.x];
}

extern "C" __global__ void chain_by_index(volatile unsigned *state) {
    if (threadIdx.x == 0) {
        if (blockIdx.x > 0) while (state[blockIdx.x - 1] == 0) { }
        state[blockIdx.x] = blockIdx.x + 1;
    }
}
