// Ways to add n values into one, from the queue at one address to one atomic a block.
extern "C" __global__ void global_atomic(const unsigned *in, unsigned *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(out, in[i]);
}

extern "C" __global__ void shared_atomic(const unsigned *in, unsigned *out, unsigned n) {
    __shared__ unsigned total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&total, in[i]);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(out, total);
}

extern "C" __global__ void block_tree(const unsigned *in, unsigned *out, unsigned n) {
    __shared__ unsigned part[256];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, part[0]);
}

extern "C" __global__ void block_tree_f32(const float *in, float *out, unsigned n) {
    __shared__ float part[256];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, part[0]);
}

__device__ unsigned warp_sum(unsigned value) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
    return value;
}

extern "C" __global__ void warp_shuffle(const unsigned *in, unsigned *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = warp_sum(i < n ? in[i] : 0);
    if (threadIdx.x % 32 == 0) atomicAdd(out, value);
}

extern "C" __global__ void grid_stride(const unsigned *in, unsigned *out, unsigned n) {
    __shared__ unsigned part[32];
    unsigned value = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) value += in[i];
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
        value = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
        value = warp_sum(value);
        if (threadIdx.x == 0) atomicAdd(out, value);
    }
}

extern "C" __global__ void vector_load(const uint4 *in, unsigned *out, unsigned n) {
    unsigned value = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        uint4 v = in[i];
        value += v.x + v.y + v.z + v.w;
    }
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0) atomicAdd(out, value);
}

extern "C" __global__ void dynamic_tree(const double *in, double *out, unsigned n) {
    extern __shared__ double pool[];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    pool[threadIdx.x] = i < n ? in[i] : 0.0;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half) pool[threadIdx.x] += pool[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, pool[0]);
}

extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, unsigned n) {
    __shared__ unsigned local[256];
    for (unsigned b = threadIdx.x; b < 256; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[in[i]], 1u);
    __syncthreads();
    for (unsigned b = threadIdx.x; b < 256; b += blockDim.x)
        if (local[b]) atomicAdd(&bins[b], local[b]);
}

extern "C" __global__ void histogram_global(const unsigned char *in, unsigned *bins, unsigned n) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i]], 1u);
}
