// Inside a warp: lanes are threads, and lock step orders nothing.

// launch 1 32
// verdict race-free
extern "C" __global__ void syncwarp_in_a_warp(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[32];
    tile[threadIdx.x] = data[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = tile[31 - threadIdx.x];
}

// launch 1 64
// verdict races write-read
extern "C" __global__ void syncwarp_across_warps(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[64];
    tile[threadIdx.x] = data[threadIdx.x]; // @write
    __syncwarp();
    out[threadIdx.x] = tile[63 - threadIdx.x]; // @read
}

// launch 1 32
// verdict races write-read
extern "C" __global__ void warp_synchronous(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[32];
    tile[threadIdx.x] = data[threadIdx.x]; // @write
    out[threadIdx.x] = tile[31 - threadIdx.x]; // @read
}

// Volatile makes the accesses strong, so this is no race, as old warp-synchronous code had it.
// launch 1 32
// verdict race-free
extern "C" __global__ void warp_synchronous_volatile(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ volatile unsigned tile[32];
    tile[threadIdx.x] = data[threadIdx.x];
    out[threadIdx.x] = tile[31 - threadIdx.x];
}

// A shuffle meets the lanes and orders no memory.
// launch 1 32
// verdict races write-read
extern "C" __global__ void shuffle_is_no_barrier(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[32];
    tile[threadIdx.x] = data[threadIdx.x]; // @write
    unsigned other = __shfl_xor_sync(0xffffffffu, threadIdx.x, 31);
    out[threadIdx.x] = tile[other]; // @read
}

// launch 1 32
// verdict races write-write
extern "C" __global__ void all_lanes_write_one_word(unsigned *data, unsigned *flag, unsigned *out) {
    out[0] = 7; // @write
}

// Half a warp meets: the other half is not ordered by it.
// launch 1 32
// verdict races write-read
extern "C" __global__ void syncwarp_of_half_a_warp(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[32];
    tile[threadIdx.x] = data[threadIdx.x]; // @write
    if (threadIdx.x < 16) {
        __syncwarp(0x0000ffffu);
        out[threadIdx.x] = tile[15 - threadIdx.x] + tile[31 - threadIdx.x]; // @read
    }
}
