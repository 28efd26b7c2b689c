// The peer of day29: CUB's DeviceHistogram::HistogramEven over bytes at the lab's sizes and inputs. It needs no zeroed
// bins: its own kernel that zeroes them is inside the timed stretch.
#include <cub/cub.cuh>

#include <array>
#include <cmath>

#include "peer.cuh"

using Bins = std::array<unsigned, 256>;

// Each value as many times as it is to be frequent, as in the lab.
static std::vector<unsigned char> table(const std::string& input) {
    std::vector<unsigned char> values(1 << 16);
    for (int draw = 0; draw < 1 << 16; ++draw) {
        int value = 0;
        if (input == "uniform") {
            value = draw / 256;
        } else if (input == "pair") {
            value = draw / 32768;
        } else if (input == "skewed") {
            value = std::min(255, static_cast<int>(std::log(1.0 - draw / 65536.0) / std::log(15.0 / 16.0)));
        }
        values[draw] = static_cast<unsigned char>(value * 97 + 65);
    }
    return values;
}

int main() {
    const std::vector<unsigned long long> sizes = {65539, 4194307, 67109475};
    unsigned char* in = nullptr;
    unsigned* bins = nullptr;
    void* scratch = nullptr;
    size_t scratch_bytes = 0;
    MUST(cudaMalloc(&in, sizes.back()));
    MUST(cudaMalloc(&bins, sizeof(Bins)));
    const auto count = [&](unsigned long long size, cudaStream_t stream) {
        MUST(cub::DeviceHistogram::HistogramEven(scratch, scratch_bytes, in, bins, 257, 0, 256, static_cast<int>(size),
                                                 stream));
    };
    count(sizes.back(), nullptr);
    MUST(cudaMalloc(&scratch, scratch_bytes));

    Peer peer("cub_histogram_even");
    std::vector<unsigned char> host(sizes.back());
    for (const char* input : {"one", "pair", "skewed", "uniform"}) {
        const std::vector<unsigned char> values = table(input);
        unsigned long long state = 1;
        for (auto& byte : host) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            byte = values[state >> 48];
        }
        MUST(cudaMemcpy(in, host.data(), host.size(), cudaMemcpyHostToDevice));
        Bins reference{};
        unsigned long long counted = 0;
        for (unsigned long long size : sizes) {
            for (; counted < size; ++counted) {
                ++reference[host[counted]];
            }
            const auto right = [&] {
                Bins found;
                MUST(cudaMemcpy(found.data(), bins, sizeof found, cudaMemcpyDeviceToHost));
                return found == reference;
            };
            peer.measure("time_with_reset", size, [&] { count(size, peer.stream); }, right,
                         std::string(",\"input\":\"") + input + "\"");
        }
    }
    char version[128];
    std::snprintf(version, sizeof version, "CUB %d.%d.%d DeviceHistogram::HistogramEven, nvcc %d.%d.%d",
                  CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION, __CUDACC_VER_MAJOR__,
                  __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__);
    peer.report(version);
}
