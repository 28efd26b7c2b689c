// The peer of day26: CUB's DeviceReduce::Sum at the lab's sizes. It needs no zeroed total: its own last kernel, where it
// has one, is inside the timed stretch.
#include <cub/cub.cuh>

#include "peer.cuh"

int main() {
    const std::vector<unsigned long long> sizes = {4096, 65536, 262144, 1048576, 4194304, 67108864};
    // Integers whose sums are exact: +1 or -1, from 2^22 on every fourth element only.
    std::vector<float> host(sizes.back());
    std::vector<long long> sum(sizes.back() + 1);
    unsigned long long state = 1;
    for (unsigned long long i = 0; i < host.size(); ++i) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        const int value = i < (1u << 22) || i % 4 == 0 ? ((state >> 63) != 0 ? 1 : -1) : 0;
        host[i] = static_cast<float>(value);
        sum[i + 1] = sum[i] + value;
    }
    float* in = nullptr;
    float* out = nullptr;
    void* scratch = nullptr;
    size_t scratch_bytes = 0;
    MUST(cudaMalloc(&in, host.size() * sizeof(float)));
    MUST(cudaMalloc(&out, sizeof(float)));
    MUST(cudaMemcpy(in, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
    MUST(cub::DeviceReduce::Sum(nullptr, scratch_bytes, in, out, sizes.back()));
    MUST(cudaMalloc(&scratch, scratch_bytes));

    Peer peer("cub_device_reduce");
    for (unsigned long long size : sizes) {
        const auto timed = [&] {
            size_t bytes = scratch_bytes;
            MUST(cub::DeviceReduce::Sum(scratch, bytes, in, out, static_cast<int>(size), peer.stream));
        };
        const auto right = [&] {
            float total = 0;
            MUST(cudaMemcpy(&total, out, sizeof total, cudaMemcpyDeviceToHost));
            return static_cast<long long>(total) == sum[size];
        };
        peer.measure("time_with_reset", size, timed, right);
    }
    char version[128];
    std::snprintf(version, sizeof version, "CUB %d.%d.%d DeviceReduce::Sum, nvcc %d.%d.%d", CUB_MAJOR_VERSION,
                  CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION, __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__,
                  __CUDACC_VER_BUILD__);
    peer.report(version);
}
