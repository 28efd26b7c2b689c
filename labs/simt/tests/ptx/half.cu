// Half precision.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

extern "C" __global__ void half_adds(__half *h, __half2 *h2, __nv_bfloat16 *b, __nv_bfloat162 *b2) {
    atomicAdd(h, __float2half(0.5f));
    atomicAdd(h2, __floats2half2_rn(0.5f, 0.25f));
    atomicAdd(b, __float2bfloat16(0.5f));
    atomicAdd(b2, __floats2bfloat162_rn(0.5f, 0.25f));
}

extern "C" __global__ void half_maths(const __half *in, const __half2 *in2, float *out, __half2 *out2) {
    __half a = in[threadIdx.x], b = in[threadIdx.x + 32];
    out[threadIdx.x] = __half2float(__hfma(a, b, __hadd(a, b))) + __half2float(__hsub(a, b)) * __half2float(__hmul(a, b)) + (a > b ? 1.0f : 0.0f);
    out2[threadIdx.x] = __hfma2(in2[threadIdx.x], in2[threadIdx.x], __hadd2(in2[threadIdx.x], in2[threadIdx.x + 32]));
}

extern "C" __global__ void half_convert(const float *in, unsigned short *h, unsigned short *b, int *i) {
    float v = in[threadIdx.x];
    h[threadIdx.x] = __half_as_ushort(__float2half_rn(v));
    b[threadIdx.x] = __bfloat16_as_ushort(__float2bfloat16_rn(v));
    i[threadIdx.x] = __half2int_rz(__float2half(v));
}

extern "C" __global__ void half_cas(unsigned short *h, unsigned rounds) {
    for (unsigned k = 0; k < rounds; ++k) {
        unsigned short old = *(volatile unsigned short *)h, seen;
        while ((seen = atomicCAS(h, old, (unsigned short)(old + 1))) != old) old = seen;
    }
}
