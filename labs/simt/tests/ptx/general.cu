// Whatever else a lab may need: calls, constant and local memory, special registers, arithmetic.
__constant__ unsigned table[4] = {3, 5, 7, 11};
__device__ unsigned counter = 17;
__device__ float weights[3] = {0.5f, -1.25f, 3.0f};

__device__ __noinline__ unsigned step(unsigned x, unsigned k) { return x % 7 ? x * k + 1 : x / 3; }

extern "C" __global__ void calls(unsigned *out) {
    unsigned v = threadIdx.x;
    if (v & 1) v = step(v, 5); else v = step(v + 2, 9);
    out[threadIdx.x] = step(v, 3) + table[v % 4] + counter + (unsigned)(weights[v % 3] * 4.0f);
}

extern "C" __global__ void locals(const unsigned *in, unsigned *out) {
    unsigned heap[16];
    for (int k = 0; k < 16; ++k) heap[k] = in[k] + threadIdx.x;
    for (int k = 0; k < 16; ++k) heap[in[k] % 16] ^= k;
    out[threadIdx.x] = heap[in[threadIdx.x % 16] % 16];
}

extern "C" __global__ void specials(unsigned long long *out) {
    unsigned sm, lane, warp, lt, le, gt, ge, eq; unsigned long long t, g;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm)); asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp)); asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
    asm("mov.u32 %0, %%lanemask_le;" : "=r"(le)); asm("mov.u32 %0, %%lanemask_gt;" : "=r"(gt));
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(ge)); asm("mov.u32 %0, %%lanemask_eq;" : "=r"(eq));
    t = clock64(); asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g));
    unsigned c = clock();
    unsigned id = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned long long *o = out + id * 4;
    o[0] = sm + lane * 100ull + warp * 100000ull; o[1] = ((unsigned long long)(lt ^ gt ^ eq) << 32) | (le & ge);
    o[2] = clock64() - t + (g > 0) + (c > 0); o[3] = blockIdx.x + 10 * blockIdx.y + 100 * blockIdx.z + 1000 * gridDim.x + 10000 * gridDim.y + 100000 * gridDim.z;
}

extern "C" __global__ void arithmetic(const int *in, long long *out) {
    int t = threadIdx.x; int a = in[t], b = in[t + 32]; long long w = (long long)a * b; unsigned ua = a, ub = b;
    long long r = 0;
    r += a / b; r = r * 31 + a % b; r = r * 31 + ua / ub; r = r * 31 + ua % ub; r = r * 31 + __mulhi(a, b); r = r * 31 + __umulhi(ua, ub);
    r = r * 31 + __umul64hi(w, ua); r = r * 31 + __popc(a) + __popcll(w) + __clz(a) + __clzll(w) + __ffs(b); r = r * 31 + __brev(a);
    r = r * 31 + min(a, b) + max(ua, ub); r = r * 31 + (a >> 3) + (ua >> 5) + (a << (b & 31)); r = r * 31 + abs(a); r = r * 31 + w / (b | 1) + w % 1000003;
    r = r * 31 + (a > b ? a : -b) + (w == ua ? 1 : 2); r = r * 31 + __funnelshift_l(a, b, 7) + __byte_perm(a, b, 0x5140); r = r * 31 + (short)a * (short)b + (signed char)a;
    r = r * 31 + __mul24(a, b) + __sad(a, b, ua); r ^= w;
    out[t] = r;
}

extern "C" __global__ void floats(const float *in, float *out, double *dout) {
    int t = threadIdx.x; float a = in[t], b = in[t + 32];
    out[t * 8 + 0] = a / b + sqrtf(b * b + 1.0f); out[t * 8 + 1] = fmaf(a, b, 1.5f) - fminf(a, b) * fmaxf(a, b);
    out[t * 8 + 2] = __fadd_rz(a, b) + __fadd_ru(a, 1e-8f) + __fmul_rd(a, b); out[t * 8 + 3] = floorf(a) + ceilf(b) + truncf(a) + rintf(b) + fabsf(a);
    out[t * 8 + 4] = (float)(int)a + (float)(unsigned)fabsf(b) + (float)(long long)(a * 1e6f); out[t * 8 + 5] = __fdividef(a, 3.0f) + rsqrtf(b * b + 1.0f);
    out[t * 8 + 6] = a < b ? -a : copysignf(b, a); out[t * 8 + 7] = __int_as_float(__float_as_int(a) ^ 0x80000000) + (isnan(a) ? 1.0f : 0.0f);
    double x = a, y = b; dout[t] = x * y + x / (y * y + 1.0) + sqrt(x * x) + fma(x, y, 0.1) + (double)(long long)x + (double)(float)y;
}

extern "C" __global__ void traps(const int *in) { if (in[threadIdx.x] < 0) __trap(); }

extern "C" __global__ void out_of_bounds(int *out, unsigned n) { out[threadIdx.x + n] = 1; }

extern "C" __global__ void hot_address(unsigned *counters, const unsigned *where, unsigned n, unsigned rounds) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned *mine = counters + where[i % n];
    for (unsigned k = 0; k < rounds; ++k) atomicAdd(mine, 1u);
}

extern "C" __global__ void switches(const int *in, int *out) {
    int v = in[threadIdx.x];
    switch (v) { case 0: v = 5; break; case 1: v *= 3; break; case 2: v -= 9; break; case 3: v ^= 77; break; case 4: v = -v; break; case 5: v <<= 2; break; default: v += 100; }
    out[threadIdx.x] = v;
}
