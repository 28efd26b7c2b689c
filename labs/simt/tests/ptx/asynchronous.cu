// compute_90: a barrier that counts bytes, adds that tell it, reductions of many words at once.
extern "C" __global__ void __cluster_dims__(2, 1, 1) land(unsigned *out, unsigned expected) {
    __shared__ unsigned own[32];
    __shared__ unsigned long long landing;
    unsigned rank, at = (unsigned)__cvta_generic_to_shared(&landing);
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    own[threadIdx.x] = 100;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (rank == 1) {
        unsigned word = (unsigned)__cvta_generic_to_shared(own + threadIdx.x), there;
        asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(word) : "r"(word));
        asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(at));
        for (unsigned i = 0; i <= threadIdx.x; ++i) {
            asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];"
                         ::"r"(word), "r"(1u), "r"(there) : "memory");
        }
    } else if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(expected) : "memory");
        unsigned landed = 0;
        while (landed == 0) {
            asm volatile("{\n\t.reg .pred over;\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 over, [%1], 0;\n\t"
                         "selp.u32 %0, 1, 0, over;\n\t}" : "=r"(landed) : "r"(at) : "memory");
        }
        for (unsigned i = 0; i < 32; ++i) out[i] = own[i];  // no other barrier between the adds and these loads
    }
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

extern "C" __global__ void bulk(unsigned *out, unsigned words) {
    __shared__ __align__(16) unsigned own[64];
    own[threadIdx.x] = threadIdx.x;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(out),
                     "r"((unsigned)__cvta_generic_to_shared(own)), "r"(words * 4) : "memory");
        asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
    }
}
