// What needs a GPU: skipped where there is none. The same checks run on a scripted device in cuda_device_test.cpp.
#include <gmock/gmock.h>

#include "cuda/cuda_device.h"
#include "cuda/doctor.h"
#include "measure/statistics.h"
#include "tests/cuda/cuda_task.h"
#include "tests/cuda/gpu_cheats.h"
#include "tests/cuda/host_wrapper.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

double median_ns(const CaseTiming& timing) {
  return median_of({timing.candidate_ns.begin(), timing.candidate_ns.end()});
}

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

  std::vector<Measurement> measure(const std::vector<std::string>& sources) { return measure(sources, task_.pack()); }
  std::vector<Measurement> measure(const std::vector<std::string>& sources, const TaskPack& pack) {
    const auto measurer = make_cuda_measurer(options_, 12345);
    std::vector<MeasureRequest> requests;
    for (const std::string& source : sources) {
      requests.push_back({&pack, {"k.cu", {"cuda", "id", source, {{"BLOCK", "128"}}}, false, ""}});
    }
    return measurer->measure(requests, {}, {});
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
  const std::vector<GpuCheat> cheats = gpu_cheats();
  std::vector<std::string> sources;
  for (const GpuCheat& cheat : cheats) sources.push_back(cheat.source);
  sources.push_back(gpu_kernel(kHonestBody));
  const auto results = measure(sources);
  for (std::size_t i = 0; i < cheats.size(); ++i) {
    EXPECT_THAT(cheats[i].verdicts, Contains(results[i].status)) << cheats[i].name << "\n" << results[i].log;
  }
  EXPECT_EQ(results.back().status, MeasurementStatus::ok) << results.back().log;
}

TEST_F(OnAGpu, ReadingTheTimerGainsNothing) {
  const Measurement result = measure({timer_reading_kernel()}).at(0);
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  EXPECT_LT(log2_speedup_scalar(result), 0.3);
}

// Neither the launch's way through the driver nor the flush of the cache, 20 us and more each, lies inside the span.
TEST_F(OnAGpu, AKernelOfAKnownLengthTakesThatLong) {
  const Measurement result = measure({kernel_that_takes(20000)}).at(0);
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  for (const CaseTiming& timing : result.cases) {
    EXPECT_GT(median_ns(timing), 18000) << timing.name;
    EXPECT_LT(median_ns(timing), 30000) << timing.name;
  }
}

TEST_F(OnAGpu, AColdRunFindsNothingInTheCache) {
  const auto nanoseconds = [&](const std::string& cache) {
    const CudaTask task(std::string(kCudaYaml) + "  cache: " + cache + "\n");
    const Measurement result = measure({line_by_line_kernel()}, task.pack()).at(0);
    EXPECT_EQ(result.status, MeasurementStatus::ok) << result.log;
    return result.cases.empty() ? 0 : median_ns(result.cases[0]);
  };
  EXPECT_GT(nanoseconds("cold"), 1.3 * nanoseconds("warm"));
}

// Behind a kernel that spins, loading the next one would wait for the end of the spin, or for ever.
TEST_F(OnAGpu, KernelsAreLoadedBeforeTheSpanThatLaunchesThem) {
  const Measurement result = measure({many_kernels()}).at(0);
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  EXPECT_FALSE(result.facts.contains("unstable"));
  EXPECT_LT(median_ns(result.cases[0]), 200000) << "eight launches";
}

// Persisting lines and results kept in device memory between runs: the second half of the rounds must not be faster.
TEST_F(OnAGpu, ACacheHintGivesNothingThatLastsBetweenRuns) {
  const auto results =
      measure({gpu_kernel("float v = 0; if (i < c.N) { asm volatile(\"ld.global.L2::evict_last.f32 %0, [%1];\" : "
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
