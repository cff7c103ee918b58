#include "cuda/cuda_device.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "cuda/gpu_messages.h"
#include "tests/cuda/cuda_task.h"
#include "tests/cuda/fake_gpu.h"
#include "tests/cuda/needs_nvrtc.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;

// y = 2 x + 1 on buffers[0] and buffers[1].
void affine(FakeLaunch& launch, std::int64_t count) {
  const auto* x = reinterpret_cast<const float*>(launch.buffers[0]);
  auto* y = reinterpret_cast<float*>(launch.buffers[1]);
  for (std::int64_t i = 0; i < count; ++i) y[i] = 2.0f * x[i] + 1.0f;
}

// What the compiler sees of a candidate whose behaviour is the fake kernel of that name.
std::string text_of(const std::string& kernel, const std::string& before = "") {
  return before + "#pragma kernelcast launch " + kernel + " grid(1) block(32)\n__global__ void " + kernel +
         "(Case c, const float* x, float* y" + (before.empty() ? "" : ", float* s") + ") { if (c.N < 0) *y = *x; }\n";
}

class CudaDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    KC_NEEDS_NVRTC();
    world_.kernels["run"] = [](FakeLaunch& launch) {
      affine(launch, launch.sizes[0]);
      launch.ns = 20000;
    };
    options_.host = quick_options();
    options_.idle_timeout_s = 0.1;
    options_.max_rounds = 8;
    options_.compile.jobs = 1;
  }

  // Measures candidates with these kernels' names, all in one session.
  std::vector<Measurement> measure(const std::vector<std::string>& texts) {
    const auto measurer = make_cuda_measurer(options_, 12345, fake_backend(world_));
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

TEST_F(CudaDevice, TimesACandidateAgainstTheSeedInAlternatingOrder) {
  const Measurement result = measure_kernel("fast", [](FakeLaunch& launch) {
    affine(launch, launch.sizes[0]);
    launch.ns = 5000;
  });
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  ASSERT_EQ(result.cases.size(), 2);
  EXPECT_NEAR(log2_speedup_scalar(result), 2, 0.01);
  EXPECT_GE(result.cases[0].candidate_ns.size(), 8);
  EXPECT_EQ(result.cases[0].candidate_ns.size(), result.cases[0].reference_ns.size());
  EXPECT_EQ(result.provenance.device, "Fake H100");
  EXPECT_EQ(result.provenance.harness_version, "cuda-1");
  EXPECT_THAT(result.provenance.compiler, HasSubstr("NVRTC"));
  EXPECT_THAT(result.provenance.compiler_flags, HasSubstr("-arch=sm_90a"));
  EXPECT_NEAR(result.provenance.noise_floor, 0, 1e-6);
  EXPECT_EQ(result.facts.at("frequency_mhz"), 1500);
  EXPECT_GT(result.facts.at("registers"), 0);
  EXPECT_EQ(result.facts.at("temperature_c"), 40);
  // The last six turns of the last case: seed and candidate take turns at being first.
  std::vector<std::string> order;
  for (const std::string& call : world_.calls) {
    if (call.starts_with("runner")) order.push_back(call);
  }
  const std::size_t n = order.size();
  EXPECT_EQ(order[n - 1], order[n - 4]);
  EXPECT_EQ(order[n - 2], order[n - 3]);
  EXPECT_NE(order[n - 1], order[n - 2]);
}

TEST_F(CudaDevice, FlushesBeforeEverySpanAndQueuesEverythingBehindADelay) {
  ASSERT_EQ(measure_kernel("same", world_.kernels["run"]).status, MeasurementStatus::ok);
  int spans = 0;
  for (std::size_t i = 0; i < world_.calls.size(); ++i) {
    if (world_.calls[i] != "start") continue;
    ++spans;
    ASSERT_GE(i, 4);
    EXPECT_EQ(world_.calls[i - 1], kDelayKernel);
    EXPECT_EQ(world_.calls[i - 2], "synchronize") << "the flush has ended before the span begins";
    EXPECT_EQ(world_.calls[i - 3], "fill " + std::to_string(2 * kFakeL2));
    EXPECT_EQ(world_.calls[i - 4], "drop") << "persisting lines are reset before every run";
    std::size_t end = i + 1;
    while (world_.calls[end] == "run" || world_.calls[end] == "same") ++end;
    EXPECT_GT(end, i + 1);
    EXPECT_EQ(world_.calls[end], "stop") << "nothing but the kernels lies inside the span";
    EXPECT_EQ(world_.calls[end + 1], kDelayKernel);
    EXPECT_EQ(world_.calls[end + 2], "synchronize");
  }
  EXPECT_GT(spans, 32);
}

TEST_F(CudaDevice, GivesEveryTimedLaunchInputsThatItHasNotSeen) {
  options_.target_log2_halfwidth = 0;
  std::vector<std::string> seen;
  const auto note = [&](FakeLaunch& launch) {
    affine(launch, launch.sizes[0]);
    seen.emplace_back(reinterpret_cast<const char*>(launch.buffers[0]), 64);
  };
  ASSERT_EQ(measure_kernel("noted", note).status, MeasurementStatus::ok);
  std::map<std::string, int> times;
  for (const std::string& input : seen) ++times[input];
  const auto once = std::count_if(times.begin(), times.end(), [](const auto& entry) { return entry.second == 1; });
  EXPECT_GE(once, 2 * 8 * 5) << "two cases, eight rounds, at least five launches of 10 us in a turn of 50 us";
}

TEST_F(CudaDevice, FindsWrongOutputsOfEveryKind) {
  const auto status = [&](const std::string& name, const FakeKernel& kernel) {
    const Measurement result = measure_kernel(name, kernel);
    EXPECT_TRUE(result.cases.empty());
    return std::string(name_of(result.status)) + ": " + result.log;
  };
  EXPECT_THAT(status("nothing", [](FakeLaunch&) {}), HasSubstr("incorrect: case even: output y[0]"));
  EXPECT_THAT(status("last", [](FakeLaunch& l) { affine(l, l.sizes[0] - 1); }), HasSubstr("output y[4095]"));
  EXPECT_THAT(status("nans", [](FakeLaunch& l) { std::memset(l.buffers[1], 0xFF, 4 * 4001); }), HasSubstr("incorrect"));
  EXPECT_THAT(status("zeros", [](FakeLaunch& l) { std::memset(l.buffers[1], 0, 4 * 4096); }), HasSubstr("incorrect"));
  EXPECT_THAT(status("beyond", [](FakeLaunch& l) { affine(l, l.sizes[0] + 1); }),
              HasSubstr("runtime_error: case even: wrote outside the outputs"));
  EXPECT_THAT(status("before",
                     [](FakeLaunch& l) {
                       affine(l, l.sizes[0]);
                       l.buffers[1][-1] ^= std::byte{1};
                     }),
              HasSubstr("wrote outside the outputs"));
  EXPECT_THAT(status("input",
                     [](FakeLaunch& l) {
                       affine(l, l.sizes[0]);
                       l.buffers[0][0] ^= std::byte{1};
                     }),
              HasSubstr("runtime_error: case even: wrote to an input"));
}

TEST_F(CudaDevice, FindsWritesOutsideTheScratch) {
  const auto kernel = [](FakeLaunch& l) {
    affine(l, l.sizes[0]);
    l.buffers.at(2)[16 * 4] ^= std::byte{1};
  };
  const Measurement result = measure_kernel("scratchy", kernel, "#pragma kernelcast scratch s f32(16)\n");
  EXPECT_EQ(result.status, MeasurementStatus::runtime_error);
  EXPECT_THAT(result.log, HasSubstr("wrote outside its scratch"));
}

TEST_F(CudaDevice, AFailedLaunchEndsItsRunnerAndSparesTheNextCandidate) {
  world_.kernels["traps"] = [](FakeLaunch& l) { l.status = kLaunchFailed; };
  world_.kernels["good"] = world_.kernels["run"];
  const auto results = measure({text_of("traps"), text_of("good"), "wrong"});
  EXPECT_EQ(results[0].status, MeasurementStatus::runtime_error);
  EXPECT_THAT(results[0].log, HasSubstr("error 719"));
  EXPECT_EQ(results[1].status, MeasurementStatus::ok) << results[1].log;
  EXPECT_EQ(results[2].status, MeasurementStatus::compile_error);
}

TEST_F(CudaDevice, AnEndlessKernelIsATimeoutAndTheNextOneIsMeasured) {
  world_.kernels["spins"] = [](FakeLaunch& l) { l.hangs = true; };
  world_.kernels["good"] = world_.kernels["run"];
  const auto results = measure({text_of("spins"), text_of("good")});
  EXPECT_EQ(results[0].status, MeasurementStatus::timeout);
  EXPECT_EQ(results[1].status, MeasurementStatus::ok) << results[1].log;
}

TEST_F(CudaDevice, MeasuresNothingBesideAKernelThatDoesNotLeaveTheDevice) {
  world_.killed_processes_stay = true;
  world_.kernels["spins"] = [](FakeLaunch& l) { l.hangs = true; };
  EXPECT_ERROR(measure({text_of("spins")}), ErrorKind::environment, HasSubstr("still uses the GPU"));
}

TEST_F(CudaDevice, ADeviceThatFailsIsNoFaultOfTheCandidate) {
  world_.kernels["unlucky"] = [](FakeLaunch& l) { l.status = kUnknownError; };
  EXPECT_ERROR(measure({text_of("unlucky")}), ErrorKind::environment, HasSubstr("the GPU failed: error 999"));
}

TEST_F(CudaDevice, RoundsOfALowClockAreTimedAgain) {
  world_.mhz = [](int reading) { return reading > 40 && reading < 48 ? 700.0 : 1500.0; };
  const Measurement result = measure_kernel("same", world_.kernels["run"]);
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  EXPECT_EQ(result.facts.at("frequency_mhz"), 1500);
  EXPECT_FALSE(result.facts.contains("unstable"));
}

TEST_F(CudaDevice, AClockThatStaysLowEndsTheRepeatsWithAVerdict) {
  int high = 0;
  world_.mhz = [&high](int) { return ++high % 8 == 0 ? 3000.0 : 700.0; };
  const Measurement result = measure_kernel("same", world_.kernels["run"]);
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  EXPECT_EQ(result.facts.at("unstable"), 1);
  EXPECT_GT(result.facts.at("throttled_rounds"), 0);
}

TEST_F(CudaDevice, ASpanThatBeganBeforeTheQueueWasFullIsTimedAgain) {
  world_.queue_ns = 30000;  // five launches and two delays do not fit into the first delay of 100 us
  const Measurement result = measure_kernel("same", world_.kernels["run"]);
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  EXPECT_NEAR(log2_speedup_scalar(result), 0, 0.01);
  for (const CaseTiming& timing : result.cases) {
    for (const float ns : timing.candidate_ns) EXPECT_NEAR(ns, 20000, 100);
  }
}

TEST_F(CudaDevice, LoadsTheModuleAnewWhereAVariableCouldKeepAResult) {
  world_.kernels["table"] = world_.kernels["run"];
  const std::string text =
      "__device__ float table_values[2] = {1, 2};\n#pragma kernelcast launch table grid(1) block(32)\n"
      "__global__ void table(Case c, const float* x, float* y) { if (c.N < 0) *y = table_values[c.N & 1] + *x; }\n";
  const Measurement result = measure({text}).at(0);
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  std::size_t launches = 0;
  std::size_t loads = 0;
  for (const std::string& call : world_.calls) {
    launches += call == "table" ? 1 : 0;
    loads += call == "load" ? 1 : 0;
  }
  EXPECT_GT(launches, 16);
  EXPECT_GE(loads, launches) << "one launch between two loads";
}

TEST_F(CudaDevice, NamesASeedThatIsWrong) {
  world_.kernels["run"] = [](FakeLaunch&) {};
  EXPECT_ERROR(measure({text_of("run")}), ErrorKind::bad_data,
               HasSubstr("the seed affine.cu BLOCK=256 and the reference disagree"));
}

TEST(GpuRunnerMessages, ADamagedRequestIsAnsweredAndNothingElse) {
  FakeWorld world;
  FakeDriver driver(world);
  GpuRunner runner(driver, kFakeL2);
  for (const Fields& request : {Fields{}, Fields{"turn"}, Fields{"turn", "short"}, Fields{"prepare", "x", "y", "z"},
                                Fields{"prepare"}, Fields{"turn", to_field(TurnMessage{1, 3}), "a"}}) {
    const Fields reply = runner.answer(request);
    ASSERT_EQ(reply.size(), 2);
    EXPECT_EQ(from_field<ReplyMessage>(reply[0])->verdict, TurnVerdict::environment);
  }
}

}  // namespace
}  // namespace kc::test
