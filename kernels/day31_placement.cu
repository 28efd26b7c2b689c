// Question: what does one atomic add cost, by the memory its target lives in and by its type?
//
// global_TYPE   the target is in device memory: the L2 adds
// shared_TYPE   the target is in the block's own shared memory: the SM adds
// cluster_TYPE  the target is in the shared memory of another block of the cluster
// host_TYPE     the target is in page-locked memory of the host, at system scope
//
// TYPE is u32, u64, f32, f64, f16, bf16, f16x2, bf16x2, float2 or float4, as far as the memory has it. Beside it stands
// NAME_trip, one thread whose next add waits for the old value of the one before.
//
// Reference:
//   for i in 0 .. n:
//       thread, round = i % threads, i / threads
//       word[place of thread] += step if round is even else -step
//
// All versions: any n from 0 up. Places come from memory, so nothing is folded. Every other round takes back what the one
// before has added: a word that only grew would pass the last number of its type to which 1 can be added, stand still, and
// look fast. A thread whose place says so begins with -step.
// Every add is relaxed; its scope is that of its memory: block, device, cluster, system.
// needs: sm_90
#include "common.cuh"

constexpr u32 line_bytes = 128;
constexpr u32 most_words = 1024;      // of a block's shared memory
constexpr u32 down_first = 1u << 31;  // in a place: begin with -step

// ANCHOR: operation
// One add as PTX, for values that a register of class `c` holds: `add` has no result, `fetch` has the old value.
// `where` is the scope and, if it is known, the memory. What the assembler makes of it is this lab's subject.
#define OPERATION(Name, Type, where, type, c)                                                               \
    struct Name {                                                                                           \
        using Value = Type;                                                                                 \
        static __device__ __forceinline__ void add(u64 word, Value step) {                                  \
            asm volatile("red.relaxed." where ".add." type " [%0], %1;" ::"l"(word), c(step) : "memory");   \
        }                                                                                                   \
        static __device__ __forceinline__ Value fetch(u64 word, Value step) {                               \
            Value old;                                                                                      \
            asm volatile("atom.relaxed." where ".add." type " %0, [%1], %2;"                                \
                         : "=" c(old) : "l"(word), c(step) : "memory");                                     \
            return old;                                                                                     \
        }                                                                                                   \
    };
// ANCHOR_END: operation

// A value's first bits, to wait for.
static __device__ __forceinline__ u32 bits(u32 value) { return value; }
static __device__ __forceinline__ u32 bits(u64 value) { return u32(value); }
static __device__ __forceinline__ u32 bits(float value) { return __float_as_uint(value); }
static __device__ __forceinline__ u32 bits(double value) { return u32(__double2loint(value)); }
static __device__ __forceinline__ u32 bits(unsigned short value) { return value; }

static __device__ __forceinline__ u64 clock_now() {
    u64 now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
    return now;
}

static __device__ __forceinline__ u32 sm_index() {
    u32 sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

// ANCHOR: rounds
// A thread's adds to its word, up and down in turn.
template <typename Op>
static __device__ __forceinline__ void rounds(u64 word, u32 place, const typename Op::Value* steps, u64 thread,
                                              u64 threads, u64 n) {
    const u32 down = place / down_first;
    typename Op::Value now = steps[down];
    typename Op::Value next = steps[1 - down];
    for (u64 i = thread; i < n; i += threads) {
        Op::add(word, now);
        const typename Op::Value last = now;
        now = next;
        next = last;
    }
}
// ANCHOR_END: rounds

// ANCHOR: trip
// Cycles of `hops` adds to one word, each of which needs the old value of the one before: `nothing` is 0, which only the
// host knows. The first add brings the line and is not counted.
template <typename Op>
static __device__ __forceinline__ u32 trip(u64 word, typename Op::Value step, u32 hops, u32 nothing) {
    u32 old = bits(Op::fetch(word, step)) & nothing;
    if (old != 0) {
        return 0;
    }
    const u64 began = clock_now();
#pragma unroll 1
    for (u32 hop = 0; hop < hops; ++hop) {
        old = bits(Op::fetch(word + old, step)) & nothing;
    }
    if (old != 0) {
        return 0;  // a branch waits for what it depends on, and so does the clock behind it
    }
    return u32(clock_now() - began);
}
// ANCHOR_END: trip

// Changed: the starting point.
// Why:     device memory is where counters live; a word in each line.
// Expect:  one round trip to the L2 for whoever waits, one turn at the word for whoever does not.
// ANCHOR: global
template <typename Op>
static __device__ __forceinline__ void adds_to_memory(u64 words, const u32* places, const typename Op::Value* steps, u64 n) {
    const u64 threads = u64(gridDim.x) * blockDim.x;
    const u64 thread = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    const u32 place = places[thread];
    rounds<Op>(words + u64(place % down_first) * line_bytes, place, steps, thread, threads, n);
}
// ANCHOR_END: global

// One thread a block, a block an SM; each begins at another of the `count` lines and visits all.
template <typename Op>
static __device__ __forceinline__ void trips_to_memory(u64 words, const u32* lines, u32 count, const typename Op::Value* steps,
                                                       u32 hops, u32 nothing, u32* cycles, u32* sms) {
    sms[blockIdx.x] = sm_index();
    for (u32 i = 0; i < count; ++i) {
        const u32 line = (blockIdx.x + i) % count;
        const u64 word = words + u64(lines[line]) * line_bytes;
        cycles[blockIdx.x * count + line] = trip<Op>(word, steps[i % 2], hops, nothing);
    }
}

// Changed: a block's words are in its own shared memory, side by side.
// Why:     no trip: the SM that adds holds the word.
// Expect:  a fraction of the cycles; whether the SM can add a type by itself decides the rest.
// ANCHOR: shared
template <typename Op>
static __device__ __forceinline__ void adds_in_block(typename Op::Value* out, const u32* places,
                                                     const typename Op::Value* steps, u32 words, u64 n, u32* sms) {
    __shared__ typename Op::Value own[most_words];
    const u64 threads = u64(gridDim.x) * blockDim.x;
    const u64 thread = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) {
        own[i] = 0;
    }
    __syncthreads();
    const u32 place = places[thread];
    rounds<Op>(__cvta_generic_to_shared(own + place % down_first), place, steps, thread, threads, n);
    __syncthreads();
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) {
        out[u64(blockIdx.x) * words + i] = own[i];
    }
    if (threadIdx.x == 0) {
        sms[blockIdx.x] = sm_index();
    }
}
// ANCHOR_END: shared

template <typename Op>
static __device__ __forceinline__ void trips_in_block(u32 count, const typename Op::Value* steps, u32 hops, u32 nothing,
                                                      u32* cycles, u32* sms) {
    __shared__ typename Op::Value own[most_words];
    sms[blockIdx.x] = sm_index();
    for (u32 i = 0; i < count; ++i) {
        own[i] = 0;
        cycles[blockIdx.x * count + i] = trip<Op>(__cvta_generic_to_shared(own + i), steps[i % 2], hops, nothing);
    }
}

// What each type is called, and the kernels that go with an operation.
#define MEMORY_KERNELS(name, Op)                                                                                 \
    extern "C" __global__ void name(u64 words, const u32* places, const Op::Value* steps, u64 n) {               \
        adds_to_memory<Op>(words, places, steps, n);                                                             \
    }
#define MEMORY_TRIP(name, Op)                                                                                    \
    extern "C" __global__ void name##_trip(u64 words, const u32* lines, u32 count, const Op::Value* steps,       \
                                           u32 hops, u32 nothing, u32* cycles, u32* sms) {                       \
        trips_to_memory<Op>(words, lines, count, steps, hops, nothing, cycles, sms);                             \
    }
#define BLOCK_KERNELS(name, Op)                                                                                  \
    extern "C" __global__ void name(Op::Value* out, const u32* places, const Op::Value* steps, u32 words, u64 n, \
                                    u32* sms) {                                                                  \
        adds_in_block<Op>(out, places, steps, words, n, sms);                                                    \
    }                                                                                                            \
    extern "C" __global__ void name##_trip(u32 count, const Op::Value* steps, u32 hops, u32 nothing, u32* cycles,\
                                           u32* sms) {                                                           \
        trips_in_block<Op>(count, steps, hops, nothing, cycles, sms);                                            \
    }

// ANCHOR: global_u32
OPERATION(GlobalU32, u32, "gpu.global", "u32", "r")
MEMORY_KERNELS(global_u32, GlobalU32)
MEMORY_TRIP(global_u32, GlobalU32)
// ANCHOR_END: global_u32
// ANCHOR: global_u64
OPERATION(GlobalU64, u64, "gpu.global", "u64", "l")
MEMORY_KERNELS(global_u64, GlobalU64)
MEMORY_TRIP(global_u64, GlobalU64)
// ANCHOR_END: global_u64
// ANCHOR: global_f32
OPERATION(GlobalF32, float, "gpu.global", "f32", "f")
MEMORY_KERNELS(global_f32, GlobalF32)
MEMORY_TRIP(global_f32, GlobalF32)
// ANCHOR_END: global_f32
// ANCHOR: global_f64
OPERATION(GlobalF64, double, "gpu.global", "f64", "d")
MEMORY_KERNELS(global_f64, GlobalF64)
MEMORY_TRIP(global_f64, GlobalF64)
// ANCHOR_END: global_f64
// ANCHOR: global_f16
OPERATION(GlobalF16, unsigned short, "gpu.global", "noftz.f16", "h")
MEMORY_KERNELS(global_f16, GlobalF16)
MEMORY_TRIP(global_f16, GlobalF16)
// ANCHOR_END: global_f16
// ANCHOR: global_f16x2
OPERATION(GlobalF16x2, u32, "gpu.global", "noftz.f16x2", "r")
MEMORY_KERNELS(global_f16x2, GlobalF16x2)
MEMORY_TRIP(global_f16x2, GlobalF16x2)
// ANCHOR_END: global_f16x2

// ANCHOR: shared_u32
OPERATION(SharedU32, u32, "cta.shared", "u32", "r")
BLOCK_KERNELS(shared_u32, SharedU32)
// ANCHOR_END: shared_u32
// ANCHOR: shared_u64
OPERATION(SharedU64, u64, "cta.shared", "u64", "l")
BLOCK_KERNELS(shared_u64, SharedU64)
// ANCHOR_END: shared_u64
// ANCHOR: shared_f32
OPERATION(SharedF32, float, "cta.shared", "f32", "f")
BLOCK_KERNELS(shared_f32, SharedF32)
// ANCHOR_END: shared_f32
// ANCHOR: shared_f64
OPERATION(SharedF64, double, "cta.shared", "f64", "d")
BLOCK_KERNELS(shared_f64, SharedF64)
// ANCHOR_END: shared_f64
// ANCHOR: shared_f16
OPERATION(SharedF16, unsigned short, "cta.shared", "noftz.f16", "h")
BLOCK_KERNELS(shared_f16, SharedF16)
// ANCHOR_END: shared_f16
// ANCHOR: shared_f16x2
OPERATION(SharedF16x2, u32, "cta.shared", "noftz.f16x2", "r")
BLOCK_KERNELS(shared_f16x2, SharedF16x2)
// ANCHOR_END: shared_f16x2

// Changed: from global, the memory behind the address is the host's, and the scope is the system.
// Why:     a counter that the host watches has to live somewhere.
// Expect:  a trip over the bus.
// ANCHOR: host_u32
OPERATION(HostU32, u32, "sys.global", "u32", "r")
MEMORY_KERNELS(host_u32, HostU32)
MEMORY_TRIP(host_u32, HostU32)
// ANCHOR_END: host_u32
// ANCHOR: host_u64
OPERATION(HostU64, u64, "sys.global", "u64", "l")
MEMORY_KERNELS(host_u64, HostU64)
// ANCHOR_END: host_u64
// ANCHOR: host_f32
OPERATION(HostF32, float, "sys.global", "f32", "f")
MEMORY_KERNELS(host_f32, HostF32)
MEMORY_TRIP(host_f32, HostF32)
// ANCHOR_END: host_f32
// ANCHOR: host_f64
OPERATION(HostF64, double, "sys.global", "f64", "d")
MEMORY_KERNELS(host_f64, HostF64)
// ANCHOR_END: host_f64
// ANCHOR: host_f16x2
OPERATION(HostF16x2, u32, "sys.global", "noftz.f16x2", "r")
MEMORY_KERNELS(host_f16x2, HostF16x2)
// ANCHOR_END: host_f16x2

// ANCHOR: load
// Not an atomic: the load that is answered by the L2, for comparison with the trip of an add.
struct GlobalLoad {
    using Value = u32;
    static __device__ __forceinline__ Value fetch(u64 word, Value) {
        Value value;
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
        return value;
    }
};
// ANCHOR_END: load
MEMORY_TRIP(global_load, GlobalLoad)

// What follows needs compute capability 9.0.
#if __CUDA_ARCH__ >= 900
// ANCHOR: global_bf16
OPERATION(GlobalBf16, unsigned short, "gpu.global", "noftz.bf16", "h")
MEMORY_KERNELS(global_bf16, GlobalBf16)
// ANCHOR_END: global_bf16
// ANCHOR: global_bf16x2
OPERATION(GlobalBf16x2, u32, "gpu.global", "noftz.bf16x2", "r")
MEMORY_KERNELS(global_bf16x2, GlobalBf16x2)
// ANCHOR_END: global_bf16x2
// ANCHOR: shared_bf16
OPERATION(SharedBf16, unsigned short, "cta.shared", "noftz.bf16", "h")
BLOCK_KERNELS(shared_bf16, SharedBf16)
// ANCHOR_END: shared_bf16
// ANCHOR: shared_bf16x2
OPERATION(SharedBf16x2, u32, "cta.shared", "noftz.bf16x2", "r")
BLOCK_KERNELS(shared_bf16x2, SharedBf16x2)
// ANCHOR_END: shared_bf16x2

// ANCHOR: vector
// Two or four floats at once, in global memory alone.
struct GlobalFloat2 {
    using Value = float2;
    static __device__ __forceinline__ void add(u64 word, float2 step) {
        asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};" ::"l"(word), "f"(step.x), "f"(step.y) : "memory");
    }
    static __device__ __forceinline__ bool fetch_is_torn(u64 word) {
        float2 old;
        asm volatile("atom.relaxed.gpu.global.add.v2.f32 {%0, %1}, [%2], {%3, %3};"
                     : "=f"(old.x), "=f"(old.y) : "l"(word), "f"(1.0f) : "memory");
        return old.x != old.y;
    }
};

struct GlobalFloat4 {
    using Value = float4;
    static __device__ __forceinline__ void add(u64 word, float4 step) {
        asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(word), "f"(step.x), "f"(step.y),
                     "f"(step.z), "f"(step.w) : "memory");
    }
    static __device__ __forceinline__ bool fetch_is_torn(u64 word) {
        float4 old;
        asm volatile("atom.relaxed.gpu.global.add.v4.f32 {%0, %1, %2, %3}, [%4], {%5, %5, %5, %5};"
                     : "=f"(old.x), "=f"(old.y), "=f"(old.z), "=f"(old.w) : "l"(word), "f"(1.0f) : "memory");
        return old.x != old.y || old.x != old.z || old.x != old.w;
    }
};
// ANCHOR_END: vector
// ANCHOR: global_float2
MEMORY_KERNELS(global_float2, GlobalFloat2)
// ANCHOR_END: global_float2
// ANCHOR: global_float4
MEMORY_KERNELS(global_float4, GlobalFloat4)
// ANCHOR_END: global_float4

// ANCHOR: torn
// Everybody adds the same to all parts. An old value whose parts differ was read while another add was half done.
template <typename Op>
static __device__ __forceinline__ void look_for_torn(u64 words, const u32* places, u32 each, u32* torn) {
    const u64 thread = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    const u64 word = words + u64(places[thread] % down_first) * line_bytes;
    u32 seen = 0;
#pragma unroll 1
    for (u32 i = 0; i < each; ++i) {
        seen += Op::fetch_is_torn(word) ? 1 : 0;
    }
    torn[thread] = seen;
}
// ANCHOR_END: torn

extern "C" __global__ void global_float2_torn(u64 words, const u32* places, u32 each, u32* torn) {
    look_for_torn<GlobalFloat2>(words, places, each, torn);
}

extern "C" __global__ void global_float4_torn(u64 words, const u32* places, u32 each, u32* torn) {
    look_for_torn<GlobalFloat4>(words, places, each, torn);
}

static __device__ __forceinline__ u32 rank_in_cluster() {
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

static __device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The address of the same word in the shared memory of the cluster's block `rank`.
static __device__ __forceinline__ u64 word_of_block(const void* word, u32 rank) {
    u64 there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(word), "r"(rank));
    return there;
}

// Changed: the words are in the first block of a cluster of two, whose second block adds.
// Why:     shared memory of a neighbour is on another SM, but not behind the L2.
// Expect:  more than the own SM, less than the L2.
// ANCHOR: cluster
template <typename Op>
static __device__ __forceinline__ void adds_in_cluster(typename Op::Value* out, const u32* places,
                                                       const typename Op::Value* steps, u32 words, u64 n, u32* sms) {
    __shared__ typename Op::Value own[most_words];
    const u64 threads = u64(gridDim.x / 2) * blockDim.x;
    const u64 thread = u64(blockIdx.x / 2) * blockDim.x + threadIdx.x;
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) {
        own[i] = 0;
    }
    cluster_barrier();
    if (rank_in_cluster() == 1) {
        const u32 place = places[thread];
        rounds<Op>(word_of_block(own + place % down_first, 0), place, steps, thread, threads, n);
    }
    cluster_barrier();
    if (rank_in_cluster() == 0) {
        for (u32 i = threadIdx.x; i < words; i += blockDim.x) {
            out[u64(blockIdx.x / 2) * words + i] = own[i];
        }
    }
    if (threadIdx.x == 0) {
        sms[blockIdx.x] = sm_index();
    }
}
// ANCHOR_END: cluster

// Both blocks make their trips, each to the other's words.
template <typename Op>
static __device__ __forceinline__ void trips_in_cluster(u32 count, const typename Op::Value* steps, u32 hops, u32 nothing,
                                                        u32* cycles, u32* sms) {
    __shared__ typename Op::Value own[most_words];
    sms[blockIdx.x] = sm_index();
    for (u32 i = 0; i < count; ++i) {
        own[i] = 0;
    }
    cluster_barrier();
    for (u32 i = 0; i < count; ++i) {
        const u64 word = word_of_block(own + i, 1 - rank_in_cluster());
        cycles[blockIdx.x * count + i] = trip<Op>(word, steps[i % 2], hops, nothing);
    }
    cluster_barrier();
}

#define CLUSTER_KERNELS(name, Op)                                                                                \
    extern "C" __global__ void name(Op::Value* out, const u32* places, const Op::Value* steps, u32 words, u64 n, \
                                    u32* sms) {                                                                  \
        adds_in_cluster<Op>(out, places, steps, words, n, sms);                                                  \
    }
#define CLUSTER_TRIP(name, Op)                                                                                   \
    extern "C" __global__ void name##_trip(u32 count, const Op::Value* steps, u32 hops, u32 nothing, u32* cycles,\
                                           u32* sms) {                                                           \
        trips_in_cluster<Op>(count, steps, hops, nothing, cycles, sms);                                          \
    }

// ANCHOR: cluster_u32
OPERATION(ClusterU32, u32, "cluster", "u32", "r")
CLUSTER_KERNELS(cluster_u32, ClusterU32)
CLUSTER_TRIP(cluster_u32, ClusterU32)
// ANCHOR_END: cluster_u32
// ANCHOR: cluster_u64
OPERATION(ClusterU64, u64, "cluster", "u64", "l")
CLUSTER_KERNELS(cluster_u64, ClusterU64)
CLUSTER_TRIP(cluster_u64, ClusterU64)
// ANCHOR_END: cluster_u64
// ANCHOR: cluster_f32
OPERATION(ClusterF32, float, "cluster", "f32", "f")
CLUSTER_KERNELS(cluster_f32, ClusterF32)
CLUSTER_TRIP(cluster_f32, ClusterF32)
// ANCHOR_END: cluster_f32
// ANCHOR: cluster_f64
OPERATION(ClusterF64, double, "cluster", "f64", "d")
CLUSTER_KERNELS(cluster_f64, ClusterF64)
CLUSTER_TRIP(cluster_f64, ClusterF64)
// ANCHOR_END: cluster_f64

// Not timed: the PTX is right, what the pinned assembler makes of it is not. If the address leads neither to global memory
// nor to the own shared memory, it loads, adds as an integer and stores. How often the sum comes out wrong is counted.
OPERATION(ClusterF16x2, u32, "cluster", "noftz.f16x2", "r")
CLUSTER_KERNELS(cluster_f16x2, ClusterF16x2)
#endif
