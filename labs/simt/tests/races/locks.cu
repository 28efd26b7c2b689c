// Locks around a plain counter.
#include "order.cuh"

// launch 4 32
// verdict race-free
extern "C" __global__ void spin_lock_fences(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        while (atomicCAS(flag, 0, 1) != 0) {
        }
        __threadfence();
        data[0] += 1;
        __threadfence();
        atomicExch(flag, 0);
    }
}

// launch 4 32
// verdict races add-add
extern "C" __global__ void spin_lock_without_fences(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        while (atomicCAS(flag, 0, 1) != 0) {
        }
        data[0] += 1; // @add
        atomicExch(flag, 0);
    }
}

// launch 4 32
// verdict races add-add
extern "C" __global__ void spin_lock_unlocks_without_fence(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        while (atomicCAS(flag, 0, 1) != 0) {
        }
        __threadfence();
        data[0] += 1; // @add
        atomicExch(flag, 0);
    }
}

// launch 4 32
// verdict races add-add
extern "C" __global__ void spin_lock_block_fences(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        while (atomicCAS(flag, 0, 1) != 0) {
        }
        __threadfence_block();
        data[0] += 1; // @add
        __threadfence_block();
        atomicExch(flag, 0);
    }
}

// The same lock is right where one block uses it.
// launch 1 128
// verdict race-free
extern "C" __global__ void spin_lock_block_fences_in_a_block(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(flag, 0, 1) != 0) {
        }
        __threadfence_block();
        data[0] += 1;
        __threadfence_block();
        atomicExch(flag, 0);
    }
}

// launch 4 32
// verdict race-free
extern "C" __global__ void spin_lock_acquire_release(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        while (EXCHANGE(ACQUIRE, DEVICE, flag, 1u) != 0) {
        }
        data[0] += 1;
        STORE(RELEASE, DEVICE, flag, 0u);
    }
}

// launch 4 32
// verdict races lock-unlock, unlock-unlock
extern "C" __global__ void spin_lock_unlocks_plainly(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        while (atomicCAS(flag, 0, 1) != 0) { // @lock
        }
        flag[0] = 0; // @unlock
    }
}

// Lane by lane: every lane of the warp takes the lock in turn.
// launch 2 32
// verdict race-free
extern "C" __global__ void spin_lock_by_every_lane(unsigned *data, unsigned *flag, unsigned *out) {
    bool done = false;
    while (!done) {
        if (EXCHANGE(ACQUIRE, DEVICE, flag, 1u) == 0) {
            data[0] += 1;
            STORE(RELEASE, DEVICE, flag, 0u);
            done = true;
        }
    }
}

// launch 4 32
// verdict race-free
extern "C" __global__ void ticket_lock(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        unsigned ticket = ADD(RELAXED, DEVICE, &flag[0], 1u);
        while (LOAD(ACQUIRE, DEVICE, &flag[1]) != ticket) {
        }
        data[0] += 1;
        STORE(RELEASE, DEVICE, &flag[1], ticket + 1);
    }
}

// launch 4 32
// verdict races add-add
extern "C" __global__ void ticket_lock_relaxed(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        unsigned ticket = ADD(RELAXED, DEVICE, &flag[0], 1u);
        while (LOAD(RELAXED, DEVICE, &flag[1]) != ticket) {
        }
        data[0] += 1; // @add
        STORE(RELAXED, DEVICE, &flag[1], ticket + 1);
    }
}
