// The price of a cell: a window of SM clock cycles in which every thread updates its word again and again, each time
// with an operand that changes it. Behind the text of cells.cu, whose functions it calls.

template <class T> __device__ inline T number(float x) { return T(x); }
template <> __device__ inline f16x2 number<f16x2>(float x) { return __float2half2_rn(x); }

// Odd numbers for integers, so that sums, products and differences never settle.
template <class T> __device__ inline T odd(unsigned n) { return T(2 * n + 1); }
// Up and down by turns, so that a sum of floats stays where its last bit counts.
template <class T> __device__ inline T step(unsigned n) { return number<T>((n ^ threadIdx.x) & 1 ? 1.0f : -1.0f); }
// So that a product of wide floats grows by a little, and one of narrow floats stays in its range.
template <class T> __device__ inline T growth(unsigned n) { return number<T>(1.0009765625f); }
template <class T> __device__ inline T breath(unsigned n) {
    return number<T>((n ^ threadIdx.x) & 1 ? 1.25f : 0.8f);
}
// For an exchange: as many values as a narrow float tells apart.
template <class T> __device__ inline T other(unsigned n) { return number<T>(float((37 * n) & 1023)); }
// Minima and maxima need an operand that goes on falling or rising.
template <class T> __device__ inline T rising(long long clock) { return T(clock & 0x3fffffff); }
template <class T> __device__ inline T falling(long long clock) { return T(0x3fffffff - (clock & 0x3fffffff)); }

#define PRICE(HOW, OP, T, OPERAND)                                                                                   \
    extern "C" __global__ void price_##OP##_##T##_unused(T* p, const unsigned* at, long long window, unsigned* done, \
                                                         T* out) {                                                   \
        unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, n = 0;                                              \
        T* word = p + at[thread];                                                                                    \
        long long start = clock64(), clock = start;                                                                  \
        for (; clock - start < window; ++n, clock = clock64()) {                                                     \
            T v = OPERAND;                                                                                           \
            (void)HOW##_##OP<T>(word, v);                                                                            \
        }                                                                                                            \
        done[thread] = n;                                                                                            \
    }                                                                                                                \
    extern "C" __global__ void price_##OP##_##T##_used(T* p, const unsigned* at, long long window, unsigned* done,   \
                                                       T* out) {                                                     \
        unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, n = 0;                                              \
        T* word = p + at[thread];                                                                                    \
        T old = *word;                                                                                               \
        long long start = clock64(), clock = start;                                                                  \
        for (; clock - start < window; ++n, clock = clock64()) {                                                     \
            T v = OPERAND;                                                                                           \
            old = HOW##_##OP<T>(word, v);                                                                            \
            out[thread] = old;                                                                                       \
        }                                                                                                            \
        done[thread] = n;                                                                                            \
    }

// A swap of what was there for its neighbour: it succeeds where nobody came between.
#define PRICE_CAS(T)                                                                                                 \
    extern "C" __global__ void price_cas_##T##_used(T* p, const unsigned* at, long long window, unsigned* done,      \
                                                    T* out) {                                                        \
        typedef Bits<sizeof(T)>::type W;                                                                             \
        unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, n = 0;                                              \
        W* word = reinterpret_cast<W*>(p) + at[thread];                                                              \
        W old = *word;                                                                                               \
        for (long long start = clock64(); clock64() - start < window; ++n) old = atomicCAS(word, old, W(old ^ 1));   \
        done[thread] = n;                                                                                            \
        out[thread] = as<T>(old);                                                                                    \
    }

#define FILL(T)                                                                                                      \
    extern "C" __global__ void fill_##T(T* p, float value) {                                                         \
        p[blockIdx.x * blockDim.x + threadIdx.x] = number<T>(value);                                                 \
    }
