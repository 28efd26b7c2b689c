// Atomics by scope and size, and histograms.
#include "order.cuh"

// launch 2 64
// verdict races add-add
extern "C" __global__ void block_scope_across_blocks(unsigned *data, unsigned *flag, unsigned *out) {
    atomicAdd_block(data, 1); // @add
}

// launch 2 64
// verdict race-free
extern "C" __global__ void block_scope_in_a_block(unsigned *data, unsigned *flag, unsigned *out) {
    atomicAdd_block(&data[blockIdx.x], 1);
}

// launch 2 64
// verdict race-free
extern "C" __global__ void device_scope_across_blocks(unsigned *data, unsigned *flag, unsigned *out) {
    atomicAdd(data, 1);
}

// launch 2 64
// verdict races half-whole
extern "C" __global__ void atomics_of_two_sizes(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        atomicAdd(&data[1], 1); // @half
    } else if (threadIdx.x == 0) {
        atomicAdd((unsigned long long *)data, 1); // @whole
    }
}

// launch 2 64
// verdict races load-store, store-store
extern "C" __global__ void plain_increment(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        unsigned old = data[0]; // @load
        data[0] = old + 1; // @store
    }
}

// launch 1 128
// verdict race-free
extern "C" __global__ void neighbouring_bytes(unsigned *data, unsigned *flag, unsigned *out) {
    ((unsigned char *)out)[threadIdx.x] = (unsigned char)threadIdx.x;
}

// launch 2 64
// verdict races clear-add
extern "C" __global__ void one_block_clears_while_others_add(unsigned *data, unsigned *flag, unsigned *out) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        data[0] = 0; // @clear
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(data, 1); // @add
    }
}

// launch 2 64
// verdict race-free
extern "C" __global__ void histogram(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned bins[16];
    if (threadIdx.x < 16) {
        bins[threadIdx.x] = 0;
    }
    __syncthreads();
    atomicAdd(&bins[(threadIdx.x * 7 + data[threadIdx.x]) % 16], 1);
    __syncthreads();
    if (threadIdx.x < 16) {
        atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
    }
}

// launch 2 64
// verdict races clear-count
extern "C" __global__ void histogram_first_barrier_missing(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned bins[16];
    if (threadIdx.x < 16) {
        bins[threadIdx.x] = 0; // @clear
    }
    atomicAdd(&bins[(threadIdx.x * 7 + data[threadIdx.x]) % 16], 1); // @count
    __syncthreads();
    if (threadIdx.x < 16) {
        atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
    }
}

// launch 2 64
// verdict races count-flush
extern "C" __global__ void histogram_second_barrier_missing(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned bins[16];
    if (threadIdx.x < 16) {
        bins[threadIdx.x] = 0;
    }
    __syncthreads();
    atomicAdd(&bins[(threadIdx.x * 7 + data[threadIdx.x]) % 16], 1); // @count
    if (threadIdx.x < 16) {
        atomicAdd(&out[threadIdx.x], bins[threadIdx.x]); // @flush
    }
}

// The producer releases once; whoever adds to the flag carries the release on.
// launch 4 32
// verdict race-free
extern "C" __global__ void release_sequence(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x != 0) {
        return;
    }
    if (blockIdx.x == 0) {
        data[0] = 42;
        STORE(RELEASE, DEVICE, flag, 1u);
    } else if (blockIdx.x < 3) {
        while (LOAD(RELAXED, DEVICE, flag) < blockIdx.x) {
        }
        ADD(RELAXED, DEVICE, flag, 1u);
    } else {
        while (LOAD(ACQUIRE, DEVICE, flag) < 3) {
        }
        out[0] = data[0];
    }
}

// A store in between ends the sequence. The reader comes when that is done (flag[1]), lest
// it should meet the released value on its way.
// launch 3 32
// verdict races write-read
extern "C" __global__ void release_sequence_ended_by_a_store(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x != 0) {
        return;
    }
    if (blockIdx.x == 0) {
        data[0] = 42; // @write
        STORE(RELEASE, DEVICE, flag, 1u);
    } else if (blockIdx.x == 1) {
        while (LOAD(RELAXED, DEVICE, flag) < 1) {
        }
        STORE(RELAXED, DEVICE, flag, 2u);
        STORE(RELAXED, DEVICE, &flag[1], 1u);
    } else {
        while (LOAD(RELAXED, DEVICE, &flag[1]) == 0) {
        }
        if (LOAD(ACQUIRE, DEVICE, flag) == 2) {
            out[0] = data[0]; // @read
        }
    }
}
