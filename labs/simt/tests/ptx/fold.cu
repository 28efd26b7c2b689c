// What does ptxas make of an atomic? One kernel for each case; `fold.sass` holds the
// atomics and folding instructions that it wrote (tests/prediction.rs compares).
#define K extern "C" __global__ void
// address uniform by parameter
K p_add_const(unsigned *o) { atomicAdd(o, 1u); }
K p_add_lane(unsigned *o) { atomicAdd(o, threadIdx.x); }
K p_add_load(const unsigned *in, unsigned *o) { atomicAdd(o, in[threadIdx.x]); }
K p_add_used(unsigned *o, unsigned *r) { r[threadIdx.x] = atomicAdd(o, 1u); }
K p_add_used_lane(unsigned *o, unsigned *r) { r[threadIdx.x] = atomicAdd(o, threadIdx.x); }
K p_add_used_uniformvar(unsigned *o, unsigned *r, unsigned v) { r[threadIdx.x] = atomicAdd(o, v); }
K p_sub_lane(unsigned *o) { atomicSub(o, threadIdx.x); }
K p_adds_lane(int *o) { atomicAdd(o, -(int)threadIdx.x); }
K p_min_lane(unsigned *o) { atomicMin(o, threadIdx.x); }
K p_max_lane(unsigned *o) { atomicMax(o, threadIdx.x); }
K p_mins_lane(int *o) { atomicMin(o, (int)threadIdx.x-5); }
K p_maxs_used(int *o, int*r) { r[threadIdx.x]=atomicMax(o, (int)threadIdx.x-5); }
K p_max_const(unsigned *o, unsigned v) { atomicMax(o, v); }
K p_and_lane(unsigned *o) { atomicAnd(o, ~threadIdx.x); }
K p_or_lane(unsigned *o) { atomicOr(o, threadIdx.x); }
K p_or_const(unsigned *o) { atomicOr(o, 4u); }
K p_or_used(unsigned *o, unsigned*r) { r[threadIdx.x]=atomicOr(o, threadIdx.x); }
K p_xor_lane(unsigned *o) { atomicXor(o, threadIdx.x); }
K p_xor_const(unsigned *o) { atomicXor(o, 4u); }
K p_inc(unsigned *o) { atomicInc(o, 100u); }
K p_exch(unsigned *o) { atomicExch(o, threadIdx.x); }
K p_exch_const(unsigned *o) { atomicExch(o, 1u); }
K p_cas(unsigned *o) { atomicCAS(o, 0u, 1u); }
K p_add64_const(unsigned long long *o) { atomicAdd(o, 1ull); }
K p_add64_lane(unsigned long long *o) { atomicAdd(o, (unsigned long long)threadIdx.x); }
K p_add64_var(unsigned long long *o, unsigned long long v) { atomicAdd(o, v); }
K p_add64_used(unsigned long long *o, unsigned long long *r) { r[threadIdx.x] = atomicAdd(o, 1ull); }
K p_max64_lane(unsigned long long *o) { atomicMax(o, (unsigned long long)threadIdx.x); }
K p_max64_var(unsigned long long *o, unsigned long long v) { atomicMax(o, v); }
K p_or64_var(unsigned long long *o, unsigned long long v) { atomicOr(o, v); }
K p_xor64_var(unsigned long long *o, unsigned long long v) { atomicXor(o, v); }
K p_addf_const(float *o) { atomicAdd(o, 1.0f); }
K p_addf_load(const float*in, float *o) { atomicAdd(o, in[threadIdx.x]); }
K p_addd(double *o) { atomicAdd(o, 1.0); }
// under a condition
K c_add_const(const unsigned *in, unsigned *o) { if (in[threadIdx.x] > 5) atomicAdd(o, 1u); }
K c_add_load(const unsigned *in, unsigned *o) { unsigned v = in[threadIdx.x]; if (v > 5) atomicAdd(o, v); }
K c_thread0(const unsigned *in, unsigned *o) { if (threadIdx.x == 0) atomicAdd(o, in[0]); }
K c_thread0_const(unsigned *o) { if (threadIdx.x == 0) atomicAdd(o, 1u); }
K c_lane0(const unsigned *in, unsigned *o) { if (threadIdx.x % 32 == 0) atomicAdd(o, in[threadIdx.x]); }
K c_bounds(const unsigned *in, unsigned *o, unsigned n) { unsigned i = blockIdx.x*blockDim.x+threadIdx.x; if (i < n) atomicAdd(o, in[i]); }
// loops
K l_const(unsigned *o, unsigned n) { for (unsigned k=0;k<n;++k) atomicAdd(o, 1u); }
K l_lane(unsigned *o, unsigned n) { for (unsigned k=0;k<n;++k) atomicAdd(o, threadIdx.x + k); }
K l_stride(const unsigned *in, unsigned *o, unsigned n) { for (unsigned i=blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=gridDim.x*blockDim.x) atomicAdd(o, in[i]); }
K l_stride_const(const unsigned *in, unsigned *o, unsigned n) { for (unsigned i=blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=gridDim.x*blockDim.x) if (in[i]>3) atomicAdd(o, 1u); }
K l_addr(unsigned *o, unsigned n) { for (unsigned k=0;k<n;++k) atomicAdd(o + k, 1u); }
K l_addr2(unsigned *o, unsigned n) { for (unsigned k=0;k<n;++k) atomicAdd(o + (k&3), threadIdx.x); }
K l_while_div(unsigned *o) { unsigned k = threadIdx.x; while (k) { atomicAdd(o, 1u); k >>= 1; } }
// addresses
K a_block(unsigned *o) { atomicAdd(o + blockIdx.x, 1u); }
K a_block_mod(unsigned *o, unsigned n) { atomicAdd(o + blockIdx.x % n, threadIdx.x); }
K a_warp(unsigned *o) { atomicAdd(o + threadIdx.x / 32, 1u); }
K a_lane(unsigned *o) { atomicAdd(o + threadIdx.x, 1u); }
K a_mod(unsigned *o) { atomicAdd(o + threadIdx.x % 4, 1u); }
K a_load_uniform(unsigned *o, const unsigned *where) { atomicAdd(o + where[0], 1u); }
K a_load_block(unsigned *o, const unsigned *where) { atomicAdd(o + where[blockIdx.x], 1u); }
K a_load_lane(unsigned *o, const unsigned *where) { atomicAdd(o + where[threadIdx.x], 1u); }
K a_pointer_table(unsigned **o) { atomicAdd(o[0], 1u); }
__constant__ unsigned where_c[4];
K a_const(unsigned *o) { atomicAdd(o + where_c[1], 1u); }
__device__ unsigned glob;
K a_glob() { atomicAdd(&glob, 1u); }
K a_glob_lane() { atomicAdd(&glob, threadIdx.x); }
K a_shfl(unsigned *o) { unsigned i = __shfl_sync(~0u, threadIdx.x, 0); atomicAdd(o + i, 1u); }
K a_smid(unsigned *o) { unsigned s; asm volatile("mov.u32 %0, %%smid;" : "=r"(s)); atomicAdd(o + s, 1u); }
K a_shared_idx(unsigned *o) { __shared__ unsigned s; if (threadIdx.x==0) s = blockIdx.x*7; __syncthreads(); atomicAdd(o + s, 1u); }
K a_ldg(unsigned *o, const unsigned * __restrict__ where) { atomicAdd(o + __ldg(where), 1u); }
K a_volatile(unsigned *o, volatile unsigned *where) { atomicAdd(o + *where, 1u); }
// shared
K s_const(unsigned *r) { __shared__ unsigned s[4]; if (threadIdx.x<4) s[threadIdx.x]=0; __syncthreads(); atomicAdd(&s[0], 1u); __syncthreads(); r[0]=s[0]; }
K s_lane(unsigned *r) { __shared__ unsigned s[4]; if (threadIdx.x<4) s[threadIdx.x]=0; __syncthreads(); atomicAdd(&s[0], threadIdx.x); __syncthreads(); r[0]=s[0]; }
K s_used(unsigned *r) { __shared__ unsigned s[4]; if (threadIdx.x<4) s[threadIdx.x]=0; __syncthreads(); unsigned v = atomicAdd(&s[0], 1u); __syncthreads(); r[threadIdx.x]=s[0]+v; }
K s_used_lane(unsigned *r) { __shared__ unsigned s[4]; if (threadIdx.x<4) s[threadIdx.x]=0; __syncthreads(); unsigned v = atomicAdd(&s[0], threadIdx.x); __syncthreads(); r[threadIdx.x]=s[0]+v; }
K s_max(unsigned *r) { __shared__ unsigned s[4]; if (threadIdx.x<4) s[threadIdx.x]=0; __syncthreads(); atomicMax(&s[0], threadIdx.x); __syncthreads(); r[0]=s[0]; }
K s_or(unsigned *r) { __shared__ unsigned s[4]; if (threadIdx.x<4) s[threadIdx.x]=0; __syncthreads(); atomicOr(&s[0], 1u<<(threadIdx.x&31)); __syncthreads(); r[0]=s[0]; }
K s_data(const unsigned *in, unsigned *r) { __shared__ unsigned s[256]; s[threadIdx.x]=0; __syncthreads(); atomicAdd(&s[in[threadIdx.x]], 1u); __syncthreads(); r[threadIdx.x]=s[threadIdx.x]; }
K s_data_v(const unsigned *in, unsigned *r, unsigned v) { __shared__ unsigned s[256]; s[threadIdx.x]=0; __syncthreads(); atomicAdd(&s[in[threadIdx.x]], v); __syncthreads(); r[threadIdx.x]=s[threadIdx.x]; }
K s_data_used(const unsigned *in, unsigned *r) { __shared__ unsigned s[256]; s[threadIdx.x]=0; __syncthreads(); unsigned v=atomicAdd(&s[in[threadIdx.x]], 1u); __syncthreads(); r[threadIdx.x]=s[threadIdx.x]+v; }
K s_addf(float *r) { __shared__ float s[4]; if (threadIdx.x<4) s[threadIdx.x]=0; __syncthreads(); atomicAdd(&s[0], 1.0f); __syncthreads(); r[0]=s[0]; }
K s_add64(unsigned long long *r) { __shared__ unsigned long long s[4]; if (threadIdx.x<4) s[threadIdx.x]=0; __syncthreads(); atomicAdd(&s[0], 1ull); __syncthreads(); r[0]=s[0]; }
K s_stride(const unsigned *in, unsigned *r, unsigned n) { __shared__ unsigned s; if (threadIdx.x==0) s=0; __syncthreads(); for (unsigned i=blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=gridDim.x*blockDim.x) atomicAdd(&s, in[i]); __syncthreads(); if (threadIdx.x==0) r[0]=s; }
// asm and scopes
K i_red(unsigned *o) { asm volatile("red.global.add.u32 [%0], %1;" :: "l"(o), "r"(1) : "memory"); }
K i_red_gen(unsigned *o) { asm volatile("red.add.u32 [%0], %1;" :: "l"(o), "r"(threadIdx.x) : "memory"); }
K i_red_rel(unsigned *o) { asm volatile("red.release.gpu.global.add.u32 [%0], %1;" :: "l"(o), "r"(1) : "memory"); }
K i_red_relaxed(unsigned *o) { asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" :: "l"(o), "r"(1) : "memory"); }
K i_red_sys(unsigned *o) { asm volatile("red.relaxed.sys.global.add.u32 [%0], %1;" :: "l"(o), "r"(1) : "memory"); }
K i_red_cta(unsigned *o) { asm volatile("red.relaxed.cta.global.add.u32 [%0], %1;" :: "l"(o), "r"(1) : "memory"); }
K i_atom_unused(unsigned *o) { unsigned r; asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(r) : "l"(o), "r"(1) : "memory"); }
K i_atom_relaxed(unsigned *o) { unsigned r; asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(r) : "l"(o), "r"(1) : "memory"); }
K i_atom_acq(unsigned *o) { unsigned r; asm volatile("atom.acquire.gpu.global.add.u32 %0, [%1], %2;" : "=r"(r) : "l"(o), "r"(1) : "memory"); }
K i_atom_gen_relaxed(unsigned *o) { unsigned r; asm volatile("atom.add.relaxed.gpu.u32 %0, [%1], %2;" : "=r"(r) : "l"(o), "r"(1) : "memory"); }
K i_sys(unsigned *o) { atomicAdd_system(o, 1u); }
K i_cta(unsigned *o) { atomicAdd_block(o, 1u); }
K i_cas_unused(unsigned *o) { atomicCAS(o + threadIdx.x, 0u, 1u); }
K i_exch_unused(unsigned *o) { atomicExch(o + threadIdx.x, 1u); }
K i_inc_unused(unsigned *o) { atomicInc(o + threadIdx.x, 9u); }
// control flow, collectives, single lanes
K t_loopdiv_addr(unsigned *o) { unsigned x = threadIdx.x, k = 0; while (x) { atomicAdd(o + k, 1u); k++; x >>= 1; } }
K t_guard_loop(unsigned *o, unsigned n) { unsigned i = blockIdx.x*blockDim.x+threadIdx.x; if (i >= n) return; for (unsigned k = 0; k < n; ++k) atomicAdd(o + k, i); }
K t_phi_div(unsigned *o, const unsigned *in) { unsigned a; if (in[threadIdx.x] > 4) a = in[0]; else a = in[1]; atomicAdd(o + a, 1u); }
K t_phi_uni(unsigned *o, const unsigned *in, unsigned n) { unsigned a; if (n > 4) a = in[0]; else a = in[1]; atomicAdd(o + a, 1u); }
K t_local(unsigned *o, unsigned n) { unsigned h[8]; for (int k=0;k<8;++k) h[k]=n*k; h[n&7]=3; atomicAdd(o + h[(n>>3)&7], 1u); }
K t_ballot(unsigned *o, const unsigned *in) { unsigned b = __ballot_sync(~0u, in[threadIdx.x] > 3); atomicAdd(o + (b & 7), 1u); }
K t_syncount(unsigned *o, const unsigned *in) { unsigned b = __syncthreads_count(in[threadIdx.x] > 3); atomicAdd(o + (b & 7), 1u); }
K t_ballot_op(unsigned *o, const unsigned *in) { unsigned b = __ballot_sync(~0u, in[threadIdx.x] > 3); atomicAdd(o, b); }
K t_loadval_uniform(unsigned *o, const unsigned *in) { atomicAdd(o, in[0]); }
K t_loadval_uniform64(unsigned long long *o, const unsigned long long *in) { atomicAdd(o, in[blockIdx.x]); }
K t_atomic_addr(unsigned *o, unsigned *t) { __shared__ unsigned s; if (threadIdx.x==0) s = atomicAdd(t, 1u); __syncthreads(); atomicAdd(o + s, threadIdx.x); }
K t_atom_chain(unsigned *o, unsigned *t) { unsigned s = atomicAdd(t, 1u); atomicAdd(o + s, 1u); }
K t_clock(unsigned *o) { unsigned s = clock(); atomicAdd(o + (s&3), 1u); }
K t_warpid(unsigned *o) { unsigned s; asm volatile("mov.u32 %0, %%warpid;" : "=r"(s)); atomicAdd(o + s, 1u); }
K t_shfl_param(unsigned *o, unsigned l) { unsigned i = __shfl_sync(~0u, threadIdx.x, l); atomicAdd(o + i, 1u); }
K t_shfl_op(unsigned *o, const unsigned*in) { unsigned i = __shfl_sync(~0u, in[threadIdx.x], 0); atomicAdd(o, i); }
K t_select(unsigned *o, unsigned n) { atomicAdd(o + (threadIdx.x > n ? 1 : 0), 1u); }
K t_generic(unsigned *o, unsigned n) { __shared__ unsigned s; unsigned *p = n ? o : &s; s = 0; __syncthreads(); atomicAdd(p, 1u); __syncthreads(); o[1] = s; }
K t_inc_shared(unsigned *r, const unsigned *in) { __shared__ unsigned s[8]; if (threadIdx.x<8) s[threadIdx.x]=0; __syncthreads(); atomicInc(&s[in[threadIdx.x]&7], 100u); __syncthreads(); r[0]=s[0]; }
K t_sub_shared(unsigned *r, const unsigned *in) { __shared__ unsigned s[8]; if (threadIdx.x<8) s[threadIdx.x]=0; __syncthreads(); atomicSub(&s[in[threadIdx.x]&7], 1u); __syncthreads(); r[0]=s[0]; }
K t_add_shared_neg(int *r, const unsigned *in) { __shared__ int s[8]; if (threadIdx.x<8) s[threadIdx.x]=0; __syncthreads(); atomicAdd(&s[in[threadIdx.x]&7], 1); __syncthreads(); r[0]=s[0]; }
K t_cond_first(unsigned *o, const unsigned *in) { if (threadIdx.x < 1) atomicAdd(o, in[0]); }
K t_cond_lane5(unsigned *o, const unsigned *in) { if ((threadIdx.x & 31) == 5) atomicAdd(o, in[threadIdx.x]); }
K t_cond_ne(unsigned *o, const unsigned *in) { if (threadIdx.x != 0) atomicAdd(o, in[threadIdx.x]); }
K t_cond_xy(unsigned *o, const unsigned *in) { if (threadIdx.x == 0 && threadIdx.y == 0) atomicAdd(o, in[threadIdx.z]); }
K t_cond_gid(unsigned *o, const unsigned *in) { if (blockIdx.x*blockDim.x+threadIdx.x == 0) atomicAdd(o, in[threadIdx.z]); }
K t_cond_leader(unsigned *o, const unsigned *in) { unsigned m = __activemask(); if ((threadIdx.x & 31) == __ffs(m) - 1) atomicAdd(o, __popc(m)); }
K t_max_thread0(unsigned *o, const unsigned *in) { if (threadIdx.x == 0) atomicMax(o, in[blockIdx.x]); }
K t_cas_shared(unsigned *r) { __shared__ unsigned s; s = 0; __syncthreads(); atomicCAS(&s, 0u, 1u); __syncthreads(); r[0]=s; }
K t_exch_shared(unsigned *r) { __shared__ unsigned s; s = 0; __syncthreads(); atomicExch(&s, threadIdx.x); __syncthreads(); r[0]=s; }
K t_inc_uniform_shared(unsigned *r) { __shared__ unsigned s; s = 0; __syncthreads(); atomicInc(&s, 100u); __syncthreads(); r[0]=s; }
K t_maxshared64(unsigned long long *r) { __shared__ unsigned long long s; s = 0; __syncthreads(); atomicMax(&s, (unsigned long long)threadIdx.x); __syncthreads(); r[0]=s; }
K t_used_later(unsigned *o, unsigned *r) { unsigned v = atomicAdd(o, 1u); if (v == 7) r[0] = 1; }
K t_last(unsigned *ticket, unsigned *o) { __shared__ bool last; if (threadIdx.x == 0) last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1; __syncthreads(); if (last) o[0] = 1; }
