// The peer of day40: CUB's DeviceScan::InclusiveSum at the lab's sizes. Its own first kernel, which makes the words of
// its tiles ready, is inside the timed stretch.
#include <cub/cub.cuh>

#include "peer.cuh"

using u32 = unsigned;
using u64 = unsigned long long;

// Counts the elements of `out` that are not the one before plus their own input.
__global__ void compare(const u32* in, const u32* out, u64 size, u32* differences) {
    const u64 stride = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += stride) {
        const u32 before = i == 0 ? 0 : out[i - 1];
        if (out[i] != before + in[i]) {
            atomicAdd(differences, 1u);
        }
    }
}

template <typename T> T* on_device(u64 count) {
    void* memory = nullptr;
    MUST(cudaMalloc(&memory, count * sizeof(T)));
    return static_cast<T*>(memory);
}

int main() {
    const std::vector<u64> sizes = {65536, 1048576, 4194304, 16777216, 67108864};
    std::vector<u32> values(sizes.back());
    u64 state = 1;
    for (u32& value : values) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        value = static_cast<u32>(state >> 32);
    }
    u32* in = on_device<u32>(values.size());
    u32* out = on_device<u32>(values.size());
    u32* differences = on_device<u32>(1);
    MUST(cudaMemcpy(in, values.data(), values.size() * sizeof(u32), cudaMemcpyHostToDevice));
    size_t scratch_bytes = 0;
    MUST(cub::DeviceScan::InclusiveSum(nullptr, scratch_bytes, in, out, static_cast<int>(sizes.back())));
    void* scratch = on_device<char>(scratch_bytes);

    Peer peer("cub_device_scan");
    for (u64 size : sizes) {
        const auto timed = [&] {
            size_t bytes = scratch_bytes;
            MUST(cub::DeviceScan::InclusiveSum(scratch, bytes, in, out, static_cast<int>(size), peer.stream));
        };
        // As the lab does: the output is zeroed after it was looked at, so that no old result passes for a new one.
        const auto right = [&] {
            MUST(cudaMemsetAsync(differences, 0, sizeof(u32), peer.stream));
            compare<<<1024, 256, 0, peer.stream>>>(in, out, size, differences);
            MUST(cudaMemsetAsync(out, 0, size * sizeof(u32), peer.stream));
            u32 found = 1;
            MUST(cudaMemcpyAsync(&found, differences, sizeof found, cudaMemcpyDeviceToHost, peer.stream));
            MUST(cudaStreamSynchronize(peer.stream));
            return found == 0;
        };
        peer.measure("time_with_reset", size, timed, right);
    }
    char version[128];
    std::snprintf(version, sizeof version, "CUB %d.%d.%d DeviceScan::InclusiveSum, nvcc %d.%d.%d", CUB_MAJOR_VERSION,
                  CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION, __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__,
                  __CUDACC_VER_BUILD__);
    peer.report(version);
}
