// What CUDA C++ offers for each operation, and eight kernels for each: the word in global or shared memory, its old
// value used or not, its address loaded from memory or the same for all lanes. Compiled and disassembled, never run.
// The list of CELLS lines behind this text is made from the table's rows.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef __half f16;
typedef __nv_bfloat16 bf16;
typedef __half2 f16x2;
typedef float f32;
typedef double f64;

// An unsigned integer as wide as the type, and the type's bits in it.
template <int bytes> struct Bits;
template <> struct Bits<2> { typedef unsigned short type; };
template <> struct Bits<4> { typedef u32 type; };
template <> struct Bits<8> { typedef u64 type; };
template <class To, class From> __device__ To as(From from) {
    To to;
    memcpy(&to, &from, sizeof(To));
    return to;
}
#define WORD(T) typename Bits<sizeof(T)>::type

// The loop that stands in where there is no function.
template <class T, class F> __device__ T retry(T* p, F changed) {
    typedef WORD(T) W;
    W seen = *reinterpret_cast<volatile W*>(p), expected;
    do {
        expected = seen;
        seen = atomicCAS(reinterpret_cast<W*>(p), expected, as<W>(changed(as<T>(expected))));
    } while (seen != expected);
    return as<T>(seen);
}

__device__ inline f32 smaller(f32 a, f32 b) { return fminf(a, b); }
__device__ inline f64 smaller(f64 a, f64 b) { return fmin(a, b); }
__device__ inline f16 smaller(f16 a, f16 b) { return __hmin(a, b); }
__device__ inline bf16 smaller(bf16 a, bf16 b) { return __hmin(a, b); }
__device__ inline f16x2 smaller(f16x2 a, f16x2 b) { return __hmin2(a, b); }
__device__ inline f32 larger(f32 a, f32 b) { return fmaxf(a, b); }
__device__ inline f64 larger(f64 a, f64 b) { return fmax(a, b); }
__device__ inline f16 larger(f16 a, f16 b) { return __hmax(a, b); }
__device__ inline bf16 larger(bf16 a, bf16 b) { return __hmax(a, b); }
__device__ inline f16x2 larger(f16x2 a, f16x2 b) { return __hmax2(a, b); }

// Functions of the language, perhaps on bits as wide or with the sign turned.
template <class T> __device__ T call_add(T* p, T v) { return atomicAdd(p, v); }
template <> __device__ inline i64 call_add(i64* p, i64 v) { return atomicAdd(reinterpret_cast<u64*>(p), u64(v)); }
template <class T> __device__ T call_sub(T* p, T v) { return call_add(p, T(-v)); }
template <> __device__ inline i32 call_sub(i32* p, i32 v) { return atomicSub(p, v); }
template <> __device__ inline u32 call_sub(u32* p, u32 v) { return atomicSub(p, v); }
template <class T> __device__ T call_min(T* p, T v) { return atomicMin(p, v); }
template <class T> __device__ T call_max(T* p, T v) { return atomicMax(p, v); }
template <class T> __device__ T call_and(T* p, T v) { return atomicAnd(p, v); }
template <class T> __device__ T call_or(T* p, T v) { return atomicOr(p, v); }
template <class T> __device__ T call_xor(T* p, T v) { return atomicXor(p, v); }
template <class T> __device__ T call_exchange(T* p, T v) {
    typedef WORD(T) W;
    return as<T>(atomicExch(reinterpret_cast<W*>(p), as<W>(v)));
}
// Expected is what the operand says, too: only the instruction matters.
template <class T> __device__ T call_cas(T* p, T v) {
    typedef WORD(T) W;
    return as<T>(atomicCAS(reinterpret_cast<W*>(p), as<W>(v), W(as<W>(v) + 1)));
}

// No function: a loop.
template <class T> __device__ T loop_add(T* p, T v) { return retry(p, [=](T x) { return T(x + v); }); }
template <class T> __device__ T loop_mul(T* p, T v) { return retry(p, [=](T x) { return T(x * v); }); }
template <class T> __device__ T loop_min(T* p, T v) { return retry(p, [=](T x) { return smaller(x, v); }); }
template <class T> __device__ T loop_max(T* p, T v) { return retry(p, [=](T x) { return larger(x, v); }); }
template <class T> __device__ T loop_exchange(T* p, T v) { return retry(p, [=](T) { return v; }); }

#define KERNEL(NAME, HOW, OP, T, STAGE, WORD, OUT, TYPE)                                                             \
    extern "C" __global__ void NAME(T* p, const unsigned* at, const T* in, T* out) {                                 \
        unsigned lane = threadIdx.x;                                                                                 \
        T v = in[lane];                                                                                              \
        STAGE                                                                                                        \
        T old = HOW##_##OP<T>(WORD, v);                                                                              \
        OUT                                                                                                          \
    }
#define TILE(T)                                                                                                      \
    __shared__ T tile[256];                                                                                          \
    tile[lane] = p[lane];                                                                                            \
    __syncthreads();
// What lies in shared memory must be read at the end, or the operation is dead.
#define USED out[lane] = old;
#define UNUSED (void)old;
#define USED_TILE                                                                                                    \
    out[lane] = old;                                                                                                 \
    __syncthreads();                                                                                                 \
    p[lane] = tile[lane];
#define UNUSED_TILE                                                                                                  \
    (void)old;                                                                                                       \
    __syncthreads();                                                                                                 \
    p[lane] = tile[lane];
#define CELLS(HOW, OP, T)                                                                                            \
    KERNEL(OP##_##T##_global_unused_loaded, HOW, OP, T, , p + at[lane], UNUSED, T)                                   \
    KERNEL(OP##_##T##_global_used_loaded, HOW, OP, T, , p + at[lane], USED, T)                                       \
    KERNEL(OP##_##T##_global_unused_uniform, HOW, OP, T, , p, UNUSED, T)                                             \
    KERNEL(OP##_##T##_global_used_uniform, HOW, OP, T, , p, USED, T)                                                 \
    KERNEL(OP##_##T##_shared_unused_loaded, HOW, OP, T, TILE(T), tile + at[lane], UNUSED_TILE, T)                    \
    KERNEL(OP##_##T##_shared_used_loaded, HOW, OP, T, TILE(T), tile + at[lane], USED_TILE, T)                        \
    KERNEL(OP##_##T##_shared_unused_uniform, HOW, OP, T, TILE(T), tile, UNUSED_TILE, T)                              \
    KERNEL(OP##_##T##_shared_used_uniform, HOW, OP, T, TILE(T), tile, USED_TILE, T)

// The reader must see these for what they are: a loop by hand where the machine has the instruction, and a swap
// without a loop.
extern "C" __global__ void control_loop(unsigned* p, const unsigned* in, unsigned* out) {
    unsigned v = in[threadIdx.x];
    out[threadIdx.x] = retry(p, [=](unsigned x) { return x + v; });
}
extern "C" __global__ void control_once(unsigned* p, const unsigned* in, unsigned* out) {
    out[threadIdx.x] = atomicCAS(p, in[threadIdx.x], 7u);
}
