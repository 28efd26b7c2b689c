// Question: what does the old value of an add cost, and who decides whether it is sent?
//
// add_unused        atomicAdd whose result nobody takes
// add_shown         the result is handed to an empty asm statement: the compiler looks into it, and drops it
// add_kept          the result is compared with a value that it never has: nobody reads it, and it cannot be dropped
// add_used          the results are added up and stored
// ref_unused        cuda::atomic_ref, result not taken
// ref_used          cuda::atomic_ref, results added up and stored
// builtin_unused    __nv_atomic_add, the compiler's builtin that returns nothing
// builtin_used      __nv_atomic_fetch_add, results added up and stored
// ptx_red           inline PTX: red, on a global address
// ptx_atom_unused   inline PTX: atom with a result that nobody takes, on a global address
// ptx_atom_generic  the same on a generic address, which may lead to any memory
// cluster_unused    atomicAdd on the shared memory of another block of the cluster, result not taken
// cluster_used      the same, results added up and stored
// cluster_async     red.async on the same words: a barrier there counts the bytes that have arrived
// bulk_line         cp.reduce.async.bulk: one thread sends 32 words of shared memory to be added to 32 words
// bulk_page         the same with 1,024 words a request
//
// Reference:
//   for i in 0 .. n:
//       old[i] = word[place of i]
//       word[place of i] += 1
//
// All versions: 256 threads a block, any n from 0 up, u32 words that are 0 before the launch. Add i is made by thread
// i % threads. Places come from memory, so that the compiler can't know which lanes agree, and folds nothing.
// Every add is relaxed, at device scope or wider; those in a cluster's shared memory at the cluster's scope.
// needs: sm_90
#include "common.cuh"
#include <cuda/atomic>

constexpr u32 block_size = 256;

// Changed: the starting point.
// Why:     the shortest program: nobody wants the old value.
// Expect:  RED, which sends no reply.
// ANCHOR: add_unused
extern "C" __global__ void add_unused(u32* words, const u32* place, u64 n) {
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    u32* word = words + place[thread];
    for (u64 i = thread; i < n; i += threads) {
        atomicAdd(word, 1u);
    }
}
// ANCHOR_END: add_unused

// Changed: the result goes to an asm statement without an instruction.
// Why:     this is how benchmarks keep a value alive.
// Expect:  RED all the same: the assembler sees that no instruction reads the register.
// ANCHOR: add_shown
extern "C" __global__ void add_shown(u32* words, const u32* place, u64 n) {
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    u32* word = words + place[thread];
    for (u64 i = thread; i < n; i += threads) {
        const u32 old = atomicAdd(word, 1u);
        asm volatile("" ::"r"(old));
    }
}
// ANCHOR_END: add_shown

// Changed: the result is compared; the store behind it never happens, which only the host knows.
// Why:     now an instruction reads the register, in every round.
// Expect:  ATOM, which sends a reply, and a thread that waits for it.
// ANCHOR: add_kept
extern "C" __global__ void add_kept(u32* words, const u32* place, u64 n, u32 never, u32* seen) {
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    u32* word = words + place[thread];
    for (u64 i = thread; i < n; i += threads) {
        const u32 old = atomicAdd(word, 1u);
        if (old == never) {
            seen[thread] = old;
        }
    }
}
// ANCHOR_END: add_kept

// Changed: the results are added up; each thread stores its sum.
// Why:     the sum over all threads tells whether every old value was handed out once.
// Expect:  ATOM, and a thread that waits for each reply before its next add.
// ANCHOR: add_used
extern "C" __global__ void add_used(u32* words, const u32* place, u64 n, u64* sums) {
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    u32* word = words + place[thread];
    u64 sum = 0;
    for (u64 i = thread; i < n; i += threads) {
        sum += atomicAdd(word, 1u);
    }
    sums[thread] = sum;
}
// ANCHOR_END: add_used

// Changed: from add_unused, the add of the C++ library.
// Why:     atomic_ref names order and scope in every call.
// Expect:  the library writes its PTX for an address of any memory, and for those there is no RED.
// ANCHOR: ref_unused
extern "C" __global__ void ref_unused(u32* words, const u32* place, u64 n) {
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    cuda::atomic_ref<u32, cuda::thread_scope_device> word(words[place[thread]]);
    for (u64 i = thread; i < n; i += threads) {
        word.fetch_add(1u, cuda::memory_order_relaxed);
    }
}
// ANCHOR_END: ref_unused

// Changed: the results are added up.
// Why:     the pair to ref_unused, as add_used is to add_unused.
// Expect:  the same instruction as ref_unused, with a register for the reply.
// ANCHOR: ref_used
extern "C" __global__ void ref_used(u32* words, const u32* place, u64 n, u64* sums) {
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    cuda::atomic_ref<u32, cuda::thread_scope_device> word(words[place[thread]]);
    u64 sum = 0;
    for (u64 i = thread; i < n; i += threads) {
        sum += word.fetch_add(1u, cuda::memory_order_relaxed);
    }
    sums[thread] = sum;
}
// ANCHOR_END: ref_used

// Changed: from add_unused, the compiler's builtin (CUDA 12.8 and newer). It returns void.
// Why:     there is no result to take, so nothing can be kept by mistake.
// Expect:  as with atomic_ref the PTX is for an address of any memory.
// ANCHOR: builtin_unused
extern "C" __global__ void builtin_unused(u32* words, const u32* place, u64 n) {
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    u32* word = words + place[thread];
    for (u64 i = thread; i < n; i += threads) {
        __nv_atomic_add(word, 1u, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    }
}
// ANCHOR_END: builtin_unused

// Changed: the builtin that returns the old value.
// Why:     the pair to builtin_unused.
// Expect:  the same instruction, with a register for the reply.
// ANCHOR: builtin_used
extern "C" __global__ void builtin_used(u32* words, const u32* place, u64 n, u64* sums) {
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    u32* word = words + place[thread];
    u64 sum = 0;
    for (u64 i = thread; i < n; i += threads) {
        sum += __nv_atomic_fetch_add(word, 1u, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    }
    sums[thread] = sum;
}
// ANCHOR_END: builtin_used

// Changed: from add_unused, the PTX written by hand.
// Why:     red has no result; .global says which memory.
// Expect:  RED.
// ANCHOR: ptx_red
extern "C" __global__ void ptx_red(u32* words, const u32* place, u64 n) {
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    u32* word = words + place[thread];
    for (u64 i = thread; i < n; i += threads) {
        asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(word) : "memory");
    }
}
// ANCHOR_END: ptx_red

// ANCHOR: ptx_atom
// atom on a global address, and on one that may lead to any memory. Both have a result.
static __device__ __forceinline__ u32 atom_global(u32* word) {
    u32 old;
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(word) : "memory");
    return old;
}

static __device__ __forceinline__ u32 atom_generic(u32* word) {
    u32 old;
    asm volatile("atom.relaxed.gpu.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(word) : "memory");
    return old;
}
// ANCHOR_END: ptx_atom

// Changed: atom, which has a result. Nobody takes it.
// Why:     who decides, the PTX or the assembler?
// Expect:  RED: the assembler decides by what is read.
// ANCHOR: ptx_atom_unused
extern "C" __global__ void ptx_atom_unused(u32* words, const u32* place, u64 n) {
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    u32* word = words + place[thread];
    for (u64 i = thread; i < n; i += threads) {
        atom_global(word);
    }
}
// ANCHOR_END: ptx_atom_unused

// Changed: the word `.global` is gone.
// Why:     a generic address may lead to shared memory, too; so much atomic_ref and the builtin leave open.
// Expect:  ATOM with the reply thrown away.
// ANCHOR: ptx_atom_generic
extern "C" __global__ void ptx_atom_generic(u32* words, const u32* place, u64 n) {
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    u32* word = words + place[thread];
    for (u64 i = thread; i < n; i += threads) {
        atom_generic(word);
    }
}
// ANCHOR_END: ptx_atom_generic

// What follows needs clusters and asynchronous operations: compute capability 9.0.
#if __CUDA_ARCH__ >= 900
constexpr u32 cluster_words = block_size;  // words in a block's shared memory that its neighbour adds to

static __device__ __forceinline__ u32 rank_in_cluster() {
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// A barrier of all threads of the cluster; what was written before is seen after.
static __device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The word at the same place in the shared memory of the cluster's first block.
static __device__ __forceinline__ u32* in_first_block(u32* word) {
    u32* there;
    asm("mapa.u64 %0, %1, 0;" : "=l"(there) : "l"(word));
    return there;
}

// Changed: the words lie in the shared memory of the cluster's first block; the second block's threads add to them.
// Why:     the add leaves the SM, but not for the L2.
// Expect:  ATOM: the address is a generic one.
// ANCHOR: cluster_unused
extern "C" __global__ void cluster_unused(u32* out, const u32* place, u64 n) {
    __shared__ u32 own[cluster_words];
    own[threadIdx.x] = 0;
    cluster_barrier();
    if (rank_in_cluster() == 1) {
        const u64 threads = u64(gridDim.x / 2) * block_size;
        const u64 thread = u64(blockIdx.x / 2) * block_size + threadIdx.x;
        u32* word = in_first_block(own + place[thread]);
        for (u64 i = thread; i < n; i += threads) {
            atomicAdd(word, 1u);
        }
    }
    cluster_barrier();
    if (rank_in_cluster() == 0) {
        out[blockIdx.x / 2 * cluster_words + threadIdx.x] = own[threadIdx.x];
    }
}
// ANCHOR_END: cluster_unused

// Changed: the results are added up.
// Why:     the pair to cluster_unused.
// Expect:  the same instruction; a thread waits for its replies.
// ANCHOR: cluster_used
extern "C" __global__ void cluster_used(u32* out, const u32* place, u64 n, u64* sums) {
    __shared__ u32 own[cluster_words];
    own[threadIdx.x] = 0;
    cluster_barrier();
    if (rank_in_cluster() == 1) {
        const u64 threads = u64(gridDim.x / 2) * block_size;
        const u64 thread = u64(blockIdx.x / 2) * block_size + threadIdx.x;
        u32* word = in_first_block(own + place[thread]);
        u64 sum = 0;
        for (u64 i = thread; i < n; i += threads) {
            sum += atomicAdd(word, 1u);
        }
        sums[thread] = sum;
    }
    cluster_barrier();
    if (rank_in_cluster() == 0) {
        out[blockIdx.x / 2 * cluster_words + threadIdx.x] = own[threadIdx.x];
    }
}
// ANCHOR_END: cluster_used

// ANCHOR: landing
// The barrier at which bytes land. `expected` bytes end its first phase; at most 2^20 - 1 fit its counter.
static __device__ __forceinline__ void open_landing(u64* landing) {
    const u32 at = u32(__cvta_generic_to_shared(landing));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

static __device__ __forceinline__ void await_landing(u64* landing, u32 expected) {
    const u32 at = u32(__cvta_generic_to_shared(landing));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(expected) : "memory");
    // A try waits a while by itself. The bound is for a mistake in the count, which the check then shows.
    u32 landed = 0;
    for (u32 tries = 0; landed == 0 && tries < 1u << 16; ++tries) {
        asm volatile(
            "{\n\t.reg .pred over;\n\t"
            "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 over, [%1], 0;\n\t"
            "selp.u32 %0, 1, 0, over;\n\t}"
            : "=r"(landed)
            : "r"(at)
            : "memory");
    }
}
// ANCHOR_END: landing

// Changed: from cluster_unused, each add tells a barrier beside its word that four bytes have landed.
// Why:     the sender goes on; who waits is the owner of the words, and it waits for bytes, not for threads.
// Expect:  REDAS, an instruction without a reply.
// ANCHOR: cluster_async
extern "C" __global__ void cluster_async(u32* out, const u32* place, u64 n) {
    __shared__ u32 own[cluster_words];
    __shared__ u64 landing;
    const u64 threads = u64(gridDim.x / 2) * block_size;
    const u64 thread = u64(blockIdx.x / 2) * block_size + threadIdx.x;
    own[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        open_landing(&landing);
    }
    cluster_barrier();
    if (rank_in_cluster() == 1) {
        u32 word, there;
        asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(word) : "r"(u32(__cvta_generic_to_shared(own + place[thread]))));
        asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(u32(__cvta_generic_to_shared(&landing))));
        for (u64 i = thread; i < n; i += threads) {
            asm volatile(
                "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(word),
                "r"(1u), "r"(there)
                : "memory");
        }
    } else if (threadIdx.x == 0) {
        const u64 before = n / threads * block_size;  // adds of whole rounds, then this cluster's share of the rest
        const u64 rest = n % threads > thread ? n % threads - thread : 0;
        await_landing(&landing, 4 * u32(before + (rest < block_size ? rest : block_size)));
    }
    cluster_barrier();
    if (rank_in_cluster() == 0) {
        out[blockIdx.x / 2 * cluster_words + threadIdx.x] = own[threadIdx.x];
    }
}
// ANCHOR_END: cluster_async

// ANCHOR: send_words
// Adds `count` words of shared memory, a multiple of four, to as many words of global memory; returns at once.
static __device__ __forceinline__ void send_words(u32* words, const u32* from, u32 count) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(words),
                 "r"(u32(__cvta_generic_to_shared(from))), "r"(count * 4)
                 : "memory");
}

// Waits until all that this thread has sent is added.
static __device__ __forceinline__ void await_sent() {
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
}

// Ones in shared memory, seen by the engine that copies.
template <u32 count>
static __device__ __forceinline__ void make_ones(u32* ones) {
    for (u32 i = threadIdx.x; i < count; i += block_size) {
        ones[i] = 1;
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
}
// ANCHOR_END: send_words

// Changed: from add_unused, a warp's 32 adds to neighbouring words are one request of one thread.
// Why:     the add is a copy now: an engine reads shared memory and sends it to the L2, which adds.
// Expect:  UBLKRED; the L2 has the same work, the SM less.
// ANCHOR: bulk_line
extern "C" __global__ void bulk_line(u32* words, const u32* place, u64 n) {
    __shared__ alignas(16) u32 ones[warp_size];
    make_ones<warp_size>(ones);
    const u64 threads = u64(gridDim.x) * block_size;
    const u64 thread = u64(blockIdx.x) * block_size + threadIdx.x;
    const u64 whole = n / warp_size * warp_size;
    u32* word = words + place[thread];
    if (threadIdx.x % warp_size == 0) {
        for (u64 i = thread; i < whole; i += threads) {
            send_words(word, ones, warp_size);
        }
        await_sent();
    }
    if (n - whole > (thread - whole % threads + threads) % threads) {
        atomicAdd(word, 1u);  // what is no whole request
    }
}
// ANCHOR_END: bulk_line

// Changed: a request is 1,024 words, 32 lines; one thread of the block sends it.
// Why:     the engine cuts it up; what a request costs the SM is paid once for 32 lines.
// Expect:  where requests were the limit, more adds a second.
// ANCHOR: bulk_page
extern "C" __global__ void bulk_page(u32* words, const u32* place, u64 n) {
    constexpr u32 page = 1024;
    __shared__ alignas(16) u32 ones[page];
    make_ones<page>(ones);
    const u64 pages = n / page;
    u32* first = words + place[blockIdx.x];
    if (threadIdx.x == 0) {
        for (u64 i = blockIdx.x; i < pages; i += gridDim.x) {
            send_words(first, ones, page);
        }
        await_sent();
    }
    if (blockIdx.x == pages % gridDim.x) {
        for (u32 i = threadIdx.x; i < n % page; i += block_size) {
            atomicAdd(first + i, 1u);  // what is no whole request
        }
    }
}
// ANCHOR_END: bulk_page
#endif
