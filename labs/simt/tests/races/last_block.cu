// The last block to take a ticket sums what all have written.
#include "order.cuh"

// launch 4 32
// verdict race-free
extern "C" __global__ void last_block(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        data[blockIdx.x] = blockIdx.x;
        __threadfence();
        last = atomicAdd(flag, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) {
        atomicAdd(out, data[threadIdx.x]);
    }
}

// launch 4 32
// verdict races write-read
extern "C" __global__ void last_block_without_fence(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        data[blockIdx.x] = blockIdx.x; // @write
        last = atomicAdd(flag, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) {
        atomicAdd(out, data[threadIdx.x]); // @read
    }
}

// launch 4 32
// verdict races write-read
extern "C" __global__ void last_block_with_a_block_fence(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        data[blockIdx.x] = blockIdx.x; // @write
        __threadfence_block();
        last = atomicAdd(flag, 1) == gridDim.x - 1;
        __threadfence_block();
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) {
        atomicAdd(out, data[threadIdx.x]); // @read
    }
}

// The ticket itself releases and acquires; the last block sets the counter back by a plain store.
// launch 4 32
// verdict race-free
extern "C" __global__ void last_block_acq_rel_resets_the_counter(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ bool last;
    data[blockIdx.x * 32 + threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        last = ADD(ACQ_REL, DEVICE, flag, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        out[threadIdx.x] = data[threadIdx.x] + data[96 + threadIdx.x];
        if (threadIdx.x == 1) {
            flag[0] = 0;
        }
    }
}

// The ticket is relaxed, yet whoever drew the last one has observed all the others.
// launch 4 32
// verdict race-free
extern "C" __global__ void relaxed_ticket_resets_the_counter(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0 && atomicAdd(flag, 1) == gridDim.x - 1) {
        flag[0] = 0;
    }
}

// The first block to come resets what the others still count on.
// launch 4 32
// verdict races ticket-reset, maybe reset-reset
extern "C" __global__ void first_ticket_resets_the_counter(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0 && atomicAdd(flag, 1) == 0) { // @ticket
        flag[0] = 0; // @reset
    }
}

// Every thread writes, but only thread 0 fences: the barrier before it hands it the rest.
// launch 4 64
// verdict race-free
extern "C" __global__ void barrier_then_one_fence(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ bool last;
    data[blockIdx.x * 64 + threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(flag, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last) {
        out[threadIdx.x] = data[threadIdx.x] + data[192 + threadIdx.x];
    }
}

// Thread 0 fences before the others have written.
// launch 4 64
// verdict races write-read
extern "C" __global__ void fence_without_the_barrier(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ bool last;
    data[blockIdx.x * 64 + threadIdx.x] = threadIdx.x; // @write
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(flag, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last) {
        out[threadIdx.x] = data[threadIdx.x] + data[192 - 64 * (blockIdx.x == 3) + threadIdx.x]; // @read
    }
}
