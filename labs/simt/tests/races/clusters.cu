// arch compute_90
// Clusters of two blocks: distributed shared memory and the cluster's barrier.
#include "order.cuh"

__device__ unsigned *shared_of(unsigned rank, unsigned *mine) {
    unsigned long long theirs;
    asm("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"((unsigned long long)mine), "r"(rank));
    return (unsigned *)theirs;
}

__device__ unsigned rank_in_cluster() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

#define CLUSTER_BARRIER \
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory"); \
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory")

// launch 4 32 2
// verdict race-free
extern "C" __global__ void cluster_barrier(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[32];
    unsigned rank = rank_in_cluster();
    tile[threadIdx.x] = data[threadIdx.x] + rank;
    CLUSTER_BARRIER;
    out[blockIdx.x * 32 + threadIdx.x] = shared_of(1 - rank, tile)[threadIdx.x];
    CLUSTER_BARRIER;
}

// launch 4 32 2
// verdict races write-read
extern "C" __global__ void block_barrier_in_a_cluster(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[32];
    unsigned rank = rank_in_cluster();
    tile[threadIdx.x] = data[threadIdx.x] + rank; // @write
    __syncthreads();
    out[blockIdx.x * 32 + threadIdx.x] = shared_of(1 - rank, tile)[threadIdx.x]; // @read
    CLUSTER_BARRIER;
}

// A relaxed arrival meets the others and hands them nothing.
// launch 4 32 2
// verdict races write-read
extern "C" __global__ void relaxed_arrival(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[32];
    unsigned rank = rank_in_cluster();
    tile[threadIdx.x] = data[threadIdx.x] + rank; // @write
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    out[blockIdx.x * 32 + threadIdx.x] = shared_of(1 - rank, tile)[threadIdx.x]; // @read
    CLUSTER_BARRIER;
}

// Arriving early is for work that nobody else waits for.
// launch 4 32 2
// verdict race-free
extern "C" __global__ void own_work_between_arrival_and_wait(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[32];
    unsigned rank = rank_in_cluster();
    tile[threadIdx.x] = data[threadIdx.x] + rank;
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
    out[128 + blockIdx.x * 32 + threadIdx.x] = rank;
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    out[blockIdx.x * 32 + threadIdx.x] = shared_of(1 - rank, tile)[threadIdx.x];
    CLUSTER_BARRIER;
}

// launch 4 32 2
// verdict races write-read
extern "C" __global__ void written_between_arrival_and_wait(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[32];
    unsigned rank = rank_in_cluster();
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
    tile[threadIdx.x] = data[threadIdx.x] + rank; // @write
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    out[blockIdx.x * 32 + threadIdx.x] = shared_of(1 - rank, tile)[threadIdx.x]; // @read
    CLUSTER_BARRIER;
}

// launch 4 32 2
// verdict races write-read
extern "C" __global__ void read_between_arrival_and_wait(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[32];
    unsigned rank = rank_in_cluster();
    tile[threadIdx.x] = data[threadIdx.x] + rank; // @write
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
    out[blockIdx.x * 32 + threadIdx.x] = shared_of(1 - rank, tile)[threadIdx.x]; // @read
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    CLUSTER_BARRIER;
}

// launch 4 32 2
// verdict races push-total
extern "C" __global__ void push_without_barrier(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned total;
    unsigned rank = rank_in_cluster();
    if (threadIdx.x == 0) {
        total = 0;
    }
    CLUSTER_BARRIER;
    atomicAdd(shared_of(0, &total), threadIdx.x); // @push
    if (rank == 0 && threadIdx.x == 0) {
        out[blockIdx.x] = total; // @total
    }
    CLUSTER_BARRIER;
}

// launch 4 32 2
// verdict race-free
extern "C" __global__ void release_acquire_cluster(unsigned *data, unsigned *flag, unsigned *out) {
    unsigned cluster = blockIdx.x / 2;
    if (threadIdx.x == 0 && rank_in_cluster() == 0) {
        data[cluster] = 42;
        STORE(RELEASE, CLUSTER, &flag[cluster], 1u);
    } else if (threadIdx.x == 0) {
        while (LOAD(ACQUIRE, CLUSTER, &flag[cluster]) == 0) {
        }
        out[cluster] = data[cluster];
    }
}

// The reader is in the other cluster.
// launch 4 32 2
// verdict races write-read, set-wait
extern "C" __global__ void release_acquire_cluster_across_clusters(unsigned *data, unsigned *flag, unsigned *out) {
    unsigned cluster = blockIdx.x / 2;
    if (threadIdx.x == 0 && rank_in_cluster() == 0) {
        data[cluster] = 42; // @write
        STORE(RELEASE, CLUSTER, &flag[cluster], 1u); // @set
    } else if (threadIdx.x == 0) {
        while (LOAD(ACQUIRE, CLUSTER, &flag[1 - cluster]) == 0) { // @wait
        }
        out[cluster] = data[1 - cluster]; // @read
    }
}
