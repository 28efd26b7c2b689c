// What a lab's times are held against: a launch that does nothing, and a read that does nothing else.
#include "common.cuh"

// The launch floor: no time below this one's says anything about a kernel.
extern "C" __global__ void empty() {}

// The read roofline: 16-byte loads, four in flight a thread, one word kept so that no load is dropped.
// The branch is never taken for finite input; the compiler cannot know it.
extern "C" __global__ void read_only(const float4* in, float* out, u64 quads) {
    const u64 stride = u64(gridDim.x) * blockDim.x;
    u64 q = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    float kept = 0.0f;
    for (; q + 3 * stride < quads; q += 4 * stride) {
        const float4 a = in[q];
        const float4 b = in[q + stride];
        const float4 c = in[q + 2 * stride];
        const float4 d = in[q + 3 * stride];
        kept += ((a.x + a.y) + (a.z + a.w)) + ((b.x + b.y) + (b.z + b.w));
        kept += ((c.x + c.y) + (c.z + c.w)) + ((d.x + d.y) + (d.z + d.w));
    }
    for (; q < quads; q += stride) {
        const float4 a = in[q];
        kept += (a.x + a.y) + (a.z + a.w);
    }
    if (kept != kept) {
        *out = kept;
    }
}

// Keeps the GPU busy for `ns` nanoseconds, so that the host has queued a timed stretch before it begins.
// Two bounds: the timer, and a number of readings that a timer standing still can't outlast.
extern "C" __global__ void delay(u32 ns) {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    const u64 end = now + ns;
    for (u32 reading = 0; now < end && reading < 1000000; ++reading) {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    }
}
