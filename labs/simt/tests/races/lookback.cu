// Each block waits for the sum of the one before it (by ticket) and hands on its own.
#include "order.cuh"

// launch 6 32
// verdict races publish-take
extern "C" __global__ void payload_plain_flag_relaxed(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        unsigned index = atomicAdd(&flag[64], 1);
        unsigned sum = index;
        if (index > 0) {
            while (LOAD(RELAXED, DEVICE, &flag[index - 1]) == 0) {
            }
            sum += data[index - 1]; // @take
        }
        data[index] = sum; // @publish
        STORE(RELAXED, DEVICE, &flag[index], 1u);
    }
}

// launch 6 32
// verdict race-free
extern "C" __global__ void payload_plain_flag_released(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        unsigned index = atomicAdd(&flag[64], 1);
        unsigned sum = index;
        if (index > 0) {
            while (LOAD(ACQUIRE, DEVICE, &flag[index - 1]) == 0) {
            }
            sum += data[index - 1];
        }
        data[index] = sum;
        STORE(RELEASE, DEVICE, &flag[index], 1u);
    }
}

// launch 6 32
// verdict races publish-take, raise-wait
extern "C" __global__ void payload_plain_flag_released_at_block_scope(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        unsigned index = atomicAdd(&flag[64], 1);
        unsigned sum = index;
        if (index > 0) {
            while (LOAD(ACQUIRE, BLOCK, &flag[index - 1]) == 0) { // @wait
            }
            sum += data[index - 1]; // @take
        }
        data[index] = sum; // @publish
        STORE(RELEASE, BLOCK, &flag[index], 1u); // @raise
    }
}

// Payload and flag in one word of 64 bits: nothing else needs an order.
// launch 6 32
// verdict race-free
extern "C" __global__ void packed(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        unsigned long long *state = (unsigned long long *)data;
        unsigned index = atomicAdd(&flag[64], 1);
        unsigned sum = index;
        if (index > 0) {
            unsigned long long before;
            do {
                before = LOAD(RELAXED, DEVICE, &state[index - 1]);
            } while (before >> 32 == 0);
            sum += (unsigned)before;
        }
        STORE(RELAXED, DEVICE, &state[index], 1ull << 32 | sum);
    }
}
