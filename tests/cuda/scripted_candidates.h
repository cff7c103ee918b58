#pragma once
// Candidates whose behaviour is a function of the test, measured on a scripted GPU (fake_gpu.h).
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "cuda/cuda_device.h"
#include "tests/cuda/cuda_task.h"
#include "tests/cuda/fake_gpu.h"
#include "tests/cuda/needs_nvrtc.h"

namespace kc::test {

// y = 2 x + 1 on buffers[0] and buffers[1].
inline void affine(FakeLaunch& launch, std::int64_t count) {
  const auto* x = reinterpret_cast<const float*>(launch.buffers[0]);
  auto* y = reinterpret_cast<float*>(launch.buffers[1]);
  for (std::int64_t i = 0; i < count; ++i) y[i] = 2.0f * x[i] + 1.0f;
}

inline std::string input_of(const FakeLaunch& launch) { return {reinterpret_cast<const char*>(launch.buffers[0]), 64}; }

// What the compiler sees of a candidate whose behaviour is the fake kernel of that name.
inline std::string text_of(const std::string& kernel, const std::string& before = "") {
  return before + "#pragma kernelcast launch " + kernel + " grid(1) block(32)\n__global__ void " + kernel +
         "(Case c, const float* x, float* y" + (before.empty() ? "" : ", float* s") + ") { if (c.N < 0) *y = *x; }\n";
}

class ScriptedGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    KC_NEEDS_NVRTC();
    world_.kernels["run"] = [](FakeLaunch& launch) {
      affine(launch, launch.sizes[0]);
      launch.ns = 20000;
    };
    options_.host = quick_options();
    options_.idle_timeout_s = 0.1;
    options_.max_rounds = 16;
    options_.compile.jobs = 1;
  }

  // Measures candidates with these kernels' names, all in one session.
  std::vector<Measurement> measure(const std::vector<std::string>& texts) {
    return measure(texts, fake_backend(world_));
  }
  std::vector<Measurement> measure(const std::vector<std::string>& texts, CudaBackend backend) {
    const auto measurer = make_cuda_measurer(options_, 12345, std::move(backend));
    std::vector<MeasureRequest> requests;
    for (const std::string& text : texts) {
      requests.push_back({&task_.pack(), {"k.cu", {"cuda", "id", text, {}}, false, ""}});
    }
    return measurer->measure(requests, {}, {});
  }
  Measurement measure_kernel(const std::string& name, const FakeKernel& kernel, const std::string& before = "") {
    world_.kernels[name] = kernel;
    return measure({text_of(name, before)}).at(0);
  }

  CudaTask task_;
  FakeWorld world_;
  CudaOptions options_;
};

}  // namespace kc::test
