// What needs a GPU: skipped where there is none. The same checks run on a scripted device in cuda_device_test.cpp.
#include <gmock/gmock.h>

#include "cuda/cuda_device.h"
#include "cuda/doctor.h"
#include "tests/cuda/cuda_task.h"
#include "tests/cuda/host_wrapper.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;

class OnAGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      make_cuda_backend(0, "auto");
    } catch (const Error& e) {
      GTEST_SKIP() << e.what();
    }
    options_.host = quick_options();
    options_.run_timeout_s = 3;
  }

  std::vector<Measurement> measure(const std::vector<std::string>& sources) {
    const auto measurer = make_cuda_measurer(options_, 12345);
    std::vector<MeasureRequest> requests;
    for (const std::string& source : sources) {
      requests.push_back({&task_.pack(), {"k.cu", {"cuda", "id", source, {{"BLOCK", "128"}}}, false, ""}});
    }
    return measurer->measure(requests, {}, {});
  }

  // A kernel whose body is `body`, one thread an element.
  static std::string kernel(const std::string& body) {
    return "#pragma kernelcast launch run grid(ceil_div(N, BLOCK)) block(BLOCK)\n"
           "__global__ void run(Case c, const float* x, float* y) {\n"
           "  const long long i = blockIdx.x * (long long)BLOCK + threadIdx.x;\n" +
           body + "\n}\n";
  }

  CudaTask task_;
  CudaOptions options_;
};

TEST_F(OnAGpu, TheSeedIsAsFastAsItself) {
  const Measurement result = measure({kCudaSource}).at(0);
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  EXPECT_NEAR(log2_speedup_scalar(result), 0, 0.15);
  EXPECT_GT(result.facts.at("frequency_mhz"), 100);
  EXPECT_GT(result.facts.at("occupancy"), 0);
}

TEST_F(OnAGpu, TheDriverStartsInsideTheRunnersSandbox) {
  EXPECT_TRUE(start_gpu_process(0, "require")->call({"prepare"}, 30, {}))
      << "which answers what it does not understand";
}

TEST_F(OnAGpu, CheatsAreCaught) {
  const std::string honest = "if (i < c.N) y[i] = 2.0f * x[i] + 1.0f;";
  const std::vector<std::pair<std::string, MeasurementStatus>> cheats = {
      {kernel("if (i < 0) y[i] = x[i];"), MeasurementStatus::incorrect},                          // writes nothing
      {kernel("if (i < c.N) y[i] = __int_as_float(0x7fffffff);"), MeasurementStatus::incorrect},  // NaN
      {kernel("if (i < c.N) y[i] = 0;"), MeasurementStatus::incorrect},
      {kernel("if (i < c.N - 1) y[i] = 2.0f * x[i] + 1.0f;"), MeasurementStatus::incorrect},    // drops the tail
      {kernel(honest + " if (i == 0) y[c.N] = 1;"), MeasurementStatus::runtime_error},          // guard region
      {kernel(honest + " if (i == 0) ((float*)x)[0] = 0;"), MeasurementStatus::runtime_error},  // an input
      {kernel(honest + " if (i == 0) asm volatile(\"trap;\");"), MeasurementStatus::runtime_error},
      {kernel("if (i == 0) *(volatile int*)16 = 1;"), MeasurementStatus::runtime_error},  // illegal address
      {kernel("while (c.N > 0) asm volatile(\"\");"), MeasurementStatus::timeout},
      {"__device__ float kept;\n" + kernel(honest + " if (i == 0) kept = x[0];"), MeasurementStatus::compile_error},
      {kernel("if (i == 0) printf(\"hello\");"), MeasurementStatus::compile_error},
  };
  std::vector<std::string> sources;
  for (const auto& [source, status] : cheats) sources.push_back(source);
  sources.push_back(kernel(honest));
  const auto results = measure(sources);
  for (std::size_t i = 0; i < cheats.size(); ++i) {
    EXPECT_EQ(results[i].status, cheats[i].second) << sources[i] << results[i].log;
  }
  EXPECT_EQ(results.back().status, MeasurementStatus::ok) << results.back().log;
}

// Persisting lines and results kept in device memory between runs: the second half of the rounds must not be faster.
TEST_F(OnAGpu, ACacheHintGivesNothingThatLastsBetweenRuns) {
  const auto results =
      measure({kernel("float v = 0; if (i < c.N) { asm volatile(\"ld.global.L2::evict_last.f32 %0, [%1];\" : "
                      "\"=f\"(v) : \"l\"(x + i)); y[i] = 2.0f * v + 1.0f; }"),
               kCudaSource});
  ASSERT_EQ(results[0].status, MeasurementStatus::ok) << results[0].log;
  EXPECT_LT(std::abs(log2_speedup_scalar(results[0]) - log2_speedup_scalar(results[1])), 0.3);
}

// Host code in its sandbox beside NVIDIA's driver; its copy needs a device of compute capability 9.0 or newer.
TEST_F(OnAGpu, AWrapperFillsATensorMapForACopy) {
  if (make_cuda_backend(0, "auto").description.major < 9) GTEST_SKIP() << "this device has no tensor maps";
  options_.host.sandbox = "require";
  const auto results = measure({kTensorMapCopy, kCudaSource});
  ASSERT_EQ(results[0].status, MeasurementStatus::ok) << results[0].log;
  EXPECT_EQ(results[0].facts.at("host_code"), 1);
  EXPECT_LT(std::abs(log2_speedup_scalar(results[0]) - log2_speedup_scalar(results[1])), 1.0);
}

TEST_F(OnAGpu, AFailingWrapperEndsItsOwnRunnerOnly) {
  const std::string device = "extern \"C\" __global__ void k() {}\n#pragma kernelcast host\n";
  const auto results = measure({device + wrapper("  return 7;"), device + wrapper("  __builtin_trap();"),
                                device + wrapper("  for (volatile int i = 0;; i = i + 1) {\n  }")});
  EXPECT_EQ(results[0].status, MeasurementStatus::runtime_error) << results[0].log;
  EXPECT_EQ(results[1].status, MeasurementStatus::runtime_error) << results[1].log;
  EXPECT_EQ(results[2].status, MeasurementStatus::timeout) << results[2].log;
}

TEST_F(OnAGpu, EveryShippedSeedAgreesWithItsReference) {
  for (const TaskPack& task : load_task_packs(std::filesystem::path(KC_SOURCE_DIR) / "tasks")) {
    if (!task.supports("cuda")) continue;
    const TaskPack pack = pack_for_device(task, "cuda");
    const MeasureRequest request{&pack, {pack.seed_name, pack.seed, true, ""}};
    const auto result = make_cuda_measurer(options_, 1)->measure(std::span(&request, 1), {}, {}).at(0);
    EXPECT_EQ(result.status, MeasurementStatus::ok) << pack.name << ": " << result.log;
  }
}

TEST_F(OnAGpu, TheDoctorFindsADeviceAndATimer) {
  bool has_timer = false;
  for (const DoctorLine& line : cuda_doctor(options_)) {
    EXPECT_NE(line.state, DoctorState::missing) << line.name << ": " << line.detail;
    has_timer = has_timer || line.name == "timer resolution";
  }
  EXPECT_TRUE(has_timer);
}

TEST(WithoutAGpu, TheMeasurerSaysWhatIsMissing) {
  try {
    make_cuda_backend(0, "auto");
    GTEST_SKIP() << "there is a GPU";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::environment);
    EXPECT_THAT(e.what(), ::testing::AnyOf(HasSubstr("libcuda.so.1"), HasSubstr("CUDA"), HasSubstr("device")));
  }
}

}  // namespace
}  // namespace kc::test
