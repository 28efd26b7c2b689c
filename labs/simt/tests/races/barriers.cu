// Shared memory and the barrier of the block.
#include "order.cuh"

// launch 2 128
// verdict races write-read
extern "C" __global__ void no_barrier(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[128];
    tile[threadIdx.x] = data[threadIdx.x]; // @write
    out[blockIdx.x * 128 + threadIdx.x] = tile[127 - threadIdx.x]; // @read
}

// launch 2 128
// verdict race-free
extern "C" __global__ void barrier(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[128];
    tile[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    out[blockIdx.x * 128 + threadIdx.x] = tile[127 - threadIdx.x];
}

// An atomic is not a barrier: the reader may come before the last add.
// launch 1 128
// verdict races add-read
extern "C" __global__ void atomic_is_no_barrier(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned total;
    if (threadIdx.x == 0) {
        total = 0;
    }
    __syncthreads();
    atomicAdd(&total, data[threadIdx.x] + 1); // @add
    if (threadIdx.x == 0) {
        out[0] = total; // @read
    }
}

// launch 1 128
// verdict race-free
extern "C" __global__ void atomic_and_barrier(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned total;
    if (threadIdx.x == 0) {
        total = 0;
    }
    __syncthreads();
    atomicAdd(&total, data[threadIdx.x] + 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        out[0] = total;
    }
}

// launch 2 128
// verdict race-free
extern "C" __global__ void tree(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned partial[128];
    partial[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    for (unsigned half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            partial[threadIdx.x] += partial[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = partial[0];
    }
}

// launch 2 128
// verdict races store-load
extern "C" __global__ void tree_without_its_last_barriers(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned partial[128];
    partial[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    for (unsigned half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            unsigned other = partial[threadIdx.x + half]; // @load
            partial[threadIdx.x] += other; // @store
        }
        if (half > 16) {
            __syncthreads();
        }
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = partial[0];
    }
}

// launch 2 64
// verdict race-free
extern "C" __global__ void double_buffer(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[2][64];
    unsigned sum = 0;
    for (unsigned step = 0; step < 4; ++step) {
        tile[step % 2][threadIdx.x] = data[step * 64 + threadIdx.x];
        __syncthreads();
        sum += tile[step % 2][63 - threadIdx.x];
    }
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}

// One buffer needs two barriers a step.
// launch 2 64
// verdict races fill-drain
extern "C" __global__ void single_buffer_one_barrier_missing(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[64];
    unsigned sum = 0;
#pragma unroll 1
    for (unsigned step = 0; step < 4; ++step) {
        tile[threadIdx.x] = data[step * 64 + threadIdx.x]; // @fill
        __syncthreads();
        sum += tile[63 - threadIdx.x]; // @drain
    }
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}

// The barrier is there only in every second step.
// launch 2 64
// verdict races fill-drain
extern "C" __global__ void double_buffer_one_barrier_missing(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[2][64];
    unsigned sum = 0;
#pragma unroll 1
    for (unsigned step = 0; step < 4; ++step) {
        tile[step % 2][threadIdx.x] = data[step * 64 + threadIdx.x]; // @fill
        if (step % 2 == 0) {
            __syncthreads();
        }
        sum += tile[step % 2][63 - threadIdx.x]; // @drain
    }
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}

// A barrier of one block says nothing to another.
// launch 2 64
// verdict races write-read
extern "C" __global__ void barrier_is_no_grid_barrier(unsigned *data, unsigned *flag, unsigned *out) {
    data[blockIdx.x * 64 + threadIdx.x] = threadIdx.x; // @write
    __threadfence();
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = data[(1 - blockIdx.x) * 64 + threadIdx.x]; // @read
}

// launch 4 64
// verdict race-free
extern "C" __global__ void grid_barrier(unsigned *data, unsigned *flag, unsigned *out) {
    data[blockIdx.x * 64 + threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        ADD(ACQ_REL, DEVICE, flag, 1u);
        while (LOAD(ACQUIRE, DEVICE, flag) < gridDim.x) {
        }
    }
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = data[(3 - blockIdx.x) * 64 + threadIdx.x];
}
