// Locks, waits, fences.
extern "C" __global__ void lock_try(int *lock, volatile unsigned *value) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *value = *value + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

extern "C" __global__ void lock_spin(int *lock, volatile unsigned *value) {
    while (atomicCAS(lock, 0, 1) != 0) { }
    __threadfence();
    *value = *value + 1;
    __threadfence();
    atomicExch(lock, 0);
}

extern "C" __global__ void lock_sleep(int *lock, volatile unsigned *value) {
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(lock, 0, 1) != 0) __nanosleep(100);
        __threadfence();
        *value = *value + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}

extern "C" __global__ void ticket_lock(unsigned *next, volatile unsigned *serving, unsigned *value) {
    if (threadIdx.x == 0) {
        unsigned mine = atomicAdd(next, 1u);
        while (*serving != mine) { }
        __threadfence();
        *value += 1;
        __threadfence();
        *serving = mine + 1;
    }
}

extern "C" __global__ void message(int *data, int *flag, int *out) {
    if (blockIdx.x == 0) {
        data[0] = 42;
        asm volatile("st.release.gpu.global.u32 [%0], 1;" :: "l"(flag) : "memory");
    } else {
        int seen;
        do { asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory"); } while (seen == 0);
        out[0] = data[0];
    }
}

extern "C" __global__ void last_block(const unsigned *in, unsigned *partial, unsigned *ticket, unsigned *out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = in[blockIdx.x];
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        unsigned sum = 0;
        for (unsigned b = 0; b < gridDim.x; ++b) sum += ((volatile unsigned *)partial)[b];
        *out = sum;
    }
}

extern "C" __global__ void grid_barrier(unsigned *arrived, unsigned *out) {
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1u);
        while (*(volatile unsigned *)arrived < gridDim.x) { }
        atomicAdd(out, 1u);
    }
}

extern "C" __global__ void fences(int *out) {
    __threadfence_block(); __threadfence(); __threadfence_system();
    asm volatile("fence.acq_rel.gpu; fence.sc.gpu; fence.acq_rel.cta;" ::: "memory");
    out[threadIdx.x] = 1;
}

extern "C" __global__ void named_barrier(int *out) {
    __shared__ int box[32];
    if (threadIdx.x < 32) {
        box[threadIdx.x] = threadIdx.x * 3;
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[threadIdx.x - 32] = box[threadIdx.x - 32];
    }
}

extern "C" __global__ void missing_barrier(int *out) {
    if (threadIdx.x < 32) asm volatile("barrier.sync 0, 64;" ::: "memory");
    out[threadIdx.x] = 1;
}
