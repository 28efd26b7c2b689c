// needs: sm_90
// Question: what does an atomic cost more when it also orders other accesses, and how far?
//
// relaxed        an add that orders nothing but itself
// acquire        what comes after it in the thread is done after it
// release        what came before it in the thread is done before it
// acq_rel        both
// seq_cst        both, and one order of all such operations that every thread agrees on
// fence_acq_rel  no atomic: the fence that acquire and release are made of
// fence_sc       no atomic: the fence of seq_cst
//
// Each of them at four scopes, a kernel each: cta (the block), cluster, gpu (the device), sys (host and other GPUs too).
//
// Reference, for each thread that takes part:
//   repeat `operations` times:
//       store into `writes` lines of its own
//       *word += 1, or nothing for a fence
//
// All versions: a warp a block, and its first lane alone takes part: it measures its own cycles. The address comes from
// memory, so the compiler folds nothing. An operation waits for the reply of the one before it.
#include "common.cuh"

// ANCHOR: repeat
// What a thread does: `operations` times, each after `writes` stores that nobody waits for.
struct Run {
    u32 operations;
    u32 writes;
};

// One store to each of `writes` lines; a line has 128 bytes.
constexpr u32 words_a_line = 32;

template <class Operation>
static __device__ __forceinline__ void repeat(u32* words, const u32* place, u32* lines, const Run* run, u64* cycles,
                                              Operation operation) {
    if (threadIdx.x != 0) {
        return;
    }
    const Run given = *run;
    u32* word = words + place[blockIdx.x];
    u32* mine = lines + u64(blockIdx.x) * given.writes * words_a_line;
    const u64 begin = clock64();
    for (u32 k = 1; k <= given.operations; ++k) {
        for (u32 line = 0; line < given.writes; ++line) {
            mine[line * words_a_line] = k;
        }
        const u32 old = operation(word);
        word += old == ~0u;  // never so: the next operation needs this one's reply
    }
    cycles[blockIdx.x] = clock64() - begin;
}
// ANCHOR_END: repeat

// ANCHOR: kernels
// A kernel of one order and scope: `ptx` is the operation, with %0 for the old value and %1 for the address.
#define KERNEL(name, ptx)                                                                                     \
    extern "C" __global__ void name(u32* words, const u32* place, u32* lines, const Run* run, u64* cycles) {  \
        repeat(words, place, lines, run, cycles, [](u32* word) {                                              \
            u32 old = 0;                                                                                      \
            asm volatile(ptx : "+r"(old) : "l"(__cvta_generic_to_global(word)) : "memory");                   \
            return old;                                                                                       \
        });                                                                                                   \
    }

#if __CUDA_ARCH__ >= 900
#define CLUSTER_KERNEL(name, ptx) KERNEL(name, ptx)
#else  // there are no clusters; the name stays, and nothing is launched by it
#define CLUSTER_KERNEL(name, ptx) \
    extern "C" __global__ void name(u32* words, const u32* place, u32* lines, const Run* run, u64* cycles) {}
#endif
// ANCHOR_END: kernels

// Changed: the starting point.
// Why:     what atomicAdd is: indivisible in its scope, and no order for anything else.
// Expect:  one round trip to the L2, whatever the scope: an atomic on global memory is carried out there.
// ANCHOR: relaxed
KERNEL(relaxed_cta, "atom.relaxed.cta.global.add.u32 %0, [%1], 1;")
CLUSTER_KERNEL(relaxed_cluster, "atom.relaxed.cluster.global.add.u32 %0, [%1], 1;")
KERNEL(relaxed_gpu, "atom.relaxed.gpu.global.add.u32 %0, [%1], 1;")
KERNEL(relaxed_sys, "atom.relaxed.sys.global.add.u32 %0, [%1], 1;")
// ANCHOR_END: relaxed

// Changed: later loads come after the add.
// Why:     they could be served by the SM's L1, which may hold what was true before.
// Expect:  at device scope the L1 is emptied. The instruction itself is short; what it costs shows in the loads after it.
// ANCHOR: acquire
KERNEL(acquire_cta, "atom.acquire.cta.global.add.u32 %0, [%1], 1;")
CLUSTER_KERNEL(acquire_cluster, "atom.acquire.cluster.global.add.u32 %0, [%1], 1;")
KERNEL(acquire_gpu, "atom.acquire.gpu.global.add.u32 %0, [%1], 1;")
KERNEL(acquire_sys, "atom.acquire.sys.global.add.u32 %0, [%1], 1;")
// ANCHOR_END: acquire

// Changed: earlier accesses come before the add.
// Why:     a store is on its way when the thread goes on; a release has to know that it has arrived.
// Expect:  a wait before the add is sent: a second round trip, and more for each write under way.
// ANCHOR: release
KERNEL(release_cta, "atom.release.cta.global.add.u32 %0, [%1], 1;")
CLUSTER_KERNEL(release_cluster, "atom.release.cluster.global.add.u32 %0, [%1], 1;")
KERNEL(release_gpu, "atom.release.gpu.global.add.u32 %0, [%1], 1;")
KERNEL(release_sys, "atom.release.sys.global.add.u32 %0, [%1], 1;")
// ANCHOR_END: release

// Changed: both.
// Why:     a ticket, a lock taken and given back, a hand-over in both directions.
// Expect:  the price of release and that of acquire.
// ANCHOR: acq_rel
KERNEL(acq_rel_cta, "atom.acq_rel.cta.global.add.u32 %0, [%1], 1;")
CLUSTER_KERNEL(acq_rel_cluster, "atom.acq_rel.cluster.global.add.u32 %0, [%1], 1;")
KERNEL(acq_rel_gpu, "atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;")
KERNEL(acq_rel_sys, "atom.acq_rel.sys.global.add.u32 %0, [%1], 1;")
// ANCHOR_END: acq_rel

// Changed: a fence.sc in front of an acquiring add: what the compiler makes of order seq_cst.
// Why:     acq_rel does not keep a store and a later load of another word apart; this does.
// Expect:  acq_rel, and what a fence costs that all others have to agree with.
// ANCHOR: seq_cst
KERNEL(seq_cst_cta, "fence.sc.cta; atom.acquire.cta.global.add.u32 %0, [%1], 1;")
CLUSTER_KERNEL(seq_cst_cluster, "fence.sc.cluster; atom.acquire.cluster.global.add.u32 %0, [%1], 1;")
KERNEL(seq_cst_gpu, "fence.sc.gpu; atom.acquire.gpu.global.add.u32 %0, [%1], 1;")
KERNEL(seq_cst_sys, "fence.sc.sys; atom.acquire.sys.global.add.u32 %0, [%1], 1;")
// ANCHOR_END: seq_cst

// Changed: no atomic.
// Why:     to see the order's price by itself.
// Expect:  next to nothing at block scope; a round trip from device scope on.
// ANCHOR: fence_acq_rel
KERNEL(fence_acq_rel_cta, "fence.acq_rel.cta;")
CLUSTER_KERNEL(fence_acq_rel_cluster, "fence.acq_rel.cluster;")
KERNEL(fence_acq_rel_gpu, "fence.acq_rel.gpu;")
KERNEL(fence_acq_rel_sys, "fence.acq_rel.sys;")
// ANCHOR_END: fence_acq_rel

// Changed: the sequentially consistent fence, which is what __threadfence() is.
// Why:     it stands in more code than any other.
// Expect:  fence_acq_rel or more.
// ANCHOR: fence_sc
KERNEL(fence_sc_cta, "fence.sc.cta;")
CLUSTER_KERNEL(fence_sc_cluster, "fence.sc.cluster;")
KERNEL(fence_sc_gpu, "fence.sc.gpu;")
KERNEL(fence_sc_sys, "fence.sc.sys;")
// ANCHOR_END: fence_sc
