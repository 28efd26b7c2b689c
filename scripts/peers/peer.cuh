// Measuring a peer by the rules of labs/src/measure.rs: the same delay, the same flush, warm-ups and samples.
// A peer program prints one JSON object (`PeerReport` in labs/src/tools.rs) and ends with 0, also when its results
// are wrong: the report says so.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

inline void must(cudaError_t error, const char* what) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
        std::exit(1);
    }
}
#define MUST(call) must((call), #call)

// As `delay` in kernels/baseline.cu: both bounds.
__global__ void delay(unsigned ns) {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    const unsigned long long end = now + ns;
    for (unsigned reading = 0; now < end && reading < 1000000; ++reading) {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    }
}

class Peer {
  public:
    explicit Peer(std::string name) : name_(std::move(name)) {
        int device = 0;
        int l2 = 0;
        MUST(cudaGetDevice(&device));
        MUST(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
        flush_bytes_ = 2 * static_cast<size_t>(l2);
        MUST(cudaMalloc(&flush_, flush_bytes_));
        MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        MUST(cudaEventCreate(&start_));
        MUST(cudaEventCreate(&end_));
    }

    cudaStream_t stream{};

    // Times `timed` at `size`, cold and hot; `right` is asked after every sample. `place` holds further axes as JSON,
    // such as `,"input":"uniform"`.
    void measure(const std::string& figure, unsigned long long size, const std::function<void()>& timed,
                 const std::function<bool()>& right, const std::string& place = "") {
        for (bool cold : {true, false}) {
            figures_.push_back("{\"name\":\"" + figure + "\",\"variant\":\"" + name_ + "\",\"at\":{\"size\":" +
                               std::to_string(size) + ",\"cache\":\"" + (cold ? "cold" : "hot") + "\"" + place +
                               "},\"unit\":\"ns\",\"kind\":\"duration\",\"samples\":[\"" +
                               samples(cold, timed, right) + "\"]}");
        }
    }

    void report(const std::string& version) const {
        std::string all;
        for (const auto& figure : figures_) {
            all += (all.empty() ? "" : ",") + figure;
        }
        std::printf("{\"peer\":{\"name\":\"%s\",\"version\":\"%s\",\"check\":\"%s\"},\"figures\":[%s]}\n", name_.c_str(),
                    version.c_str(), right_ ? "passed" : "refused", all.c_str());
    }

  private:
    std::string samples(bool cold, const std::function<void()>& timed, const std::function<bool()>& right) {
        constexpr int warm_ups = 3;
        constexpr size_t least = 10;
        constexpr size_t most = 100;
        std::vector<float> ns;
        const auto began = std::chrono::steady_clock::now();
        for (int taken = 1;; ++taken) {
            const float milliseconds = once(cold, timed);
            right_ = right_ && right();
            if (taken <= warm_ups) {
                continue;
            }
            ns.push_back(milliseconds * 1e6f);
            const auto elapsed = std::chrono::steady_clock::now() - began;
            const bool long_enough = elapsed >= std::chrono::milliseconds(10);
            if (ns.size() >= least && (ns.size() >= most || elapsed >= std::chrono::milliseconds(400) ||
                                       (long_enough && settled(ns)))) {
                break;
            }
        }
        std::string text;
        for (float sample : ns) {
            char number[32];
            std::snprintf(number, sizeof number, "%s%.0f", text.empty() ? "" : " ", sample);
            text += number;
        }
        return text;
    }

    float once(bool cold, const std::function<void()>& timed) {
        if (cold) {
            MUST(cudaMemsetAsync(flush_, 0, flush_bytes_, stream));
        }
        delay<<<1, 1, 0, stream>>>(28000);
        MUST(cudaEventRecord(start_, stream));
        timed();
        MUST(cudaEventRecord(end_, stream));
        MUST(cudaStreamSynchronize(stream));
        float milliseconds = 0;
        MUST(cudaEventElapsedTime(&milliseconds, start_, end_));
        return milliseconds;
    }

    static bool settled(std::vector<float> ns) {
        std::sort(ns.begin(), ns.end());
        auto quantile = [&](double q) {
            const double place = q * (ns.size() - 1);
            const size_t below = static_cast<size_t>(place);
            const size_t above = std::min(below + 1, ns.size() - 1);
            return ns[below] + (ns[above] - ns[below]) * (place - below);
        };
        return (quantile(0.75) - quantile(0.25)) / 2 <= 0.01 * quantile(0.5);
    }

    std::string name_;
    std::vector<std::string> figures_;
    void* flush_{};
    size_t flush_bytes_{};
    cudaEvent_t start_{};
    cudaEvent_t end_{};
    bool right_ = true;
};
