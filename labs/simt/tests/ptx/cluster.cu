// compute_90: clusters, distributed shared memory, vector atomics.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_sum(const unsigned *in, unsigned *out, unsigned n) {
    __shared__ unsigned total;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) total = 0;
    cluster.sync();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned *first = cluster.map_shared_rank(&total, 0);
    if (i < n) atomicAdd(first, in[i]);
    cluster.sync();
    if (threadIdx.x == 0 && cluster.block_rank() == 0) atomicAdd(out, total);
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_exchange(unsigned *out) {
    __shared__ unsigned box[32];
    unsigned rank, size;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    box[threadIdx.x] = rank * 100 + threadIdx.x;
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    unsigned own = (unsigned)__cvta_generic_to_shared(&box[threadIdx.x]), there, got;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank ^ 1));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(got) : "r"(there) : "memory");
    out[blockIdx.x * 32 + threadIdx.x] = got + size * 1000;
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" :: "r"(there) : "memory");
    cg::this_cluster().sync();
}

extern "C" __global__ void vector_atomics(float2 *a, float4 *b, float4 *old) {
    atomicAdd(a, make_float2(1.0f, 2.0f));
    atomicAdd(&b[0], make_float4(1, 2, 3, 4));
    old[threadIdx.x] = atomicAdd(&b[1], make_float4(0.5f, 1, 1.5f, 2));
}
