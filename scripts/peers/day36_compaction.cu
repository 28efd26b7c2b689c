// The peer of day36: CUB's DeviceSelect::If at the lab's sizes and rates. It keeps the input's order and needs no zeroed
// counter: its own first kernel is inside the timed stretch.
#include <cub/cub.cuh>

#include <numeric>

#include "peer.cuh"

using u32 = unsigned;
using u64 = unsigned long long;

constexpr u32 window = 4096;
constexpr u32 nothing = 0xffffffffu;

struct Below {
    u32 limit;
    __host__ __device__ bool operator()(u32 value) const { return value < limit; }
};

// As the lab's: the place in a shuffled window in the upper 12 bits, the window in the lower 20.
std::vector<u32> unique_values(u64 n) {
    std::vector<u32> places(window);
    std::iota(places.begin(), places.end(), 0u);
    std::vector<u32> values;
    values.reserve(n);
    u64 state = 1;
    for (u32 number = 0; values.size() < n; ++number) {
        for (u32 left = window; left > 1; --left) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            std::swap(places[left - 1], places[(state >> 33) % left]);
        }
        for (u32 place : places) {
            values.push_back(place << 20 | number);
        }
    }
    values.resize(n);
    return values;
}

// Counts the slots that differ from the reference and empties them.
__global__ void compare(u32* out, const u32* reference, u64 slots, u32* differences) {
    const u64 slot = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (slot < slots) {
        if (out[slot] != reference[slot]) {
            atomicAdd(differences, 1u);
        }
        out[slot] = nothing;
    }
}

template <typename T> T* on_device(u64 count) {
    void* memory = nullptr;
    MUST(cudaMalloc(&memory, count * sizeof(T)));
    return static_cast<T*>(memory);
}

template <typename T> T first_of(const T* on_device) {
    T value{};
    MUST(cudaMemcpy(&value, on_device, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

int main() {
    const std::vector<u64> sizes = {65536, 262144, 1048576, 4194304, 16777216};
    const std::vector<std::pair<const char*, u32>> rates = {{"1/8", 1u << 29}, {"1/2", 1u << 31}};
    const std::vector<u32> values = unique_values(sizes.back());
    u32* in = on_device<u32>(values.size());
    u32* out = on_device<u32>(values.size());
    u32* reference = on_device<u32>(values.size());
    u32* count = on_device<u32>(1);
    u32* differences = on_device<u32>(1);
    MUST(cudaMemcpy(in, values.data(), values.size() * sizeof(u32), cudaMemcpyHostToDevice));
    MUST(cudaMemset(out, 0xff, values.size() * sizeof(u32)));

    Peer peer("cub_device_select");
    for (const auto& [rate, limit] : rates) {
        const Below keep{limit};
        size_t scratch_bytes = 0;
        MUST(cub::DeviceSelect::If(nullptr, scratch_bytes, in, out, count, static_cast<int>(sizes.back()), keep));
        void* scratch = on_device<char>(scratch_bytes);
        std::vector<u32> kept;
        std::copy_if(values.begin(), values.end(), std::back_inserter(kept), keep);
        MUST(cudaMemcpy(reference, kept.data(), kept.size() * sizeof(u32), cudaMemcpyHostToDevice));
        for (u64 size : sizes) {
            // Of a shorter input the beginning is kept.
            const u64 slots = std::count_if(values.begin(), values.begin() + size, keep);
            const auto timed = [&] {
                size_t bytes = scratch_bytes;
                MUST(cub::DeviceSelect::If(scratch, bytes, in, out, count, static_cast<int>(size), keep, peer.stream));
            };
            const auto right = [&] {
                MUST(cudaMemsetAsync(differences, 0, sizeof(u32), peer.stream));
                compare<<<(slots + 255) / 256, 256, 0, peer.stream>>>(out, reference, slots, differences);
                MUST(cudaStreamSynchronize(peer.stream));
                return first_of(differences) == 0 && first_of(count) == slots;
            };
            peer.measure("time_with_reset", size, timed, right, std::string(",\"rate\":\"") + rate + "\"");
        }
        MUST(cudaFree(scratch));
    }
    char version[128];
    std::snprintf(version, sizeof version, "CUB %d.%d.%d DeviceSelect::If, nvcc %d.%d.%d", CUB_MAJOR_VERSION,
                  CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION, __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__,
                  __CUDACC_VER_BUILD__);
    peer.report(version);
}
