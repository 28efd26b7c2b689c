// Exercise: two totals of halves, with one add a pair.
//
// in     n pairs of halves, a pair a word
// total  a pair, 0 before the launch; it is to hold the sum of the low halves and the sum of the high halves
// Launched with 256 threads a block and as many blocks as it takes to have a thread a pair; any n from 1 up.
//
// The kernel is right. It makes two adds a pair, and each becomes a loop around a compare-and-swap.
// Goal: the same totals with one add a pair. Check with: cargo labs exercise day31
#include "common.cuh"

constexpr u32 block_size = 256;

static __device__ void add_half(unsigned short* total, unsigned short value) {
    asm volatile("red.relaxed.gpu.global.add.noftz.f16 [%0], %1;" ::"l"(total), "h"(value) : "memory");
}

extern "C" __global__ void exercise(const u32* in, u32* total, u64 n) {
    const u64 i = u64(blockIdx.x) * block_size + threadIdx.x;
    if (i < n) {
        const u32 pair = in[i];
        unsigned short* halves = reinterpret_cast<unsigned short*>(total);
        add_half(halves, static_cast<unsigned short>(pair & 0xffffu));
        add_half(halves + 1, static_cast<unsigned short>(pair >> 16));
    }
}
