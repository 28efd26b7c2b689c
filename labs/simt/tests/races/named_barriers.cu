// Producer and consumer warps with named barriers.

// launch 1 64
// verdict race-free
extern "C" __global__ void producer_arrives(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[32];
    unsigned lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        tile[lane] = data[lane];
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[lane] = tile[31 - lane];
    }
}

// The barrier of full tiles and the barrier of empty tiles.
// launch 1 64
// verdict race-free
extern "C" __global__ void full_and_empty(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[32];
    unsigned lane = threadIdx.x % 32;
#pragma unroll 1
    for (unsigned step = 0; step < 3; ++step) {
        if (threadIdx.x < 32) {
            asm volatile("bar.sync 2, 64;" ::: "memory");
            tile[lane] = data[step * 32 + lane];
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        } else {
            asm volatile("bar.arrive 2, 64;" ::: "memory");
            asm volatile("bar.sync 1, 64;" ::: "memory");
            out[step * 32 + lane] = tile[31 - lane];
        }
    }
}

// The producer does not wait for the tile to be empty.
// launch 1 64
// verdict races fill-drain
extern "C" __global__ void full_only(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[32];
    unsigned lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        tile[lane] = data[lane]; // @fill
        asm volatile("bar.arrive 1, 64;" ::: "memory");
        tile[lane] = data[32 + lane]; // @fill
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[lane] = tile[31 - lane]; // @drain
    }
}

// Two warps meet at barrier 1; a third reads what they wrote.
// launch 1 96
// verdict races write-read
extern "C" __global__ void third_warp_stays_away(unsigned *data, unsigned *flag, unsigned *out) {
    __shared__ unsigned tile[96];
    tile[threadIdx.x] = data[threadIdx.x]; // @write
    if (threadIdx.x < 64) {
        asm volatile("bar.sync 1, 64;" ::: "memory");
    } else {
        out[threadIdx.x] = tile[threadIdx.x - 64]; // @read
    }
}
