// How labels of a GPU are timed, by a scripted one.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "cuda/gpu_speed_limit.h"
#include "tests/cuda/scripted_candidates.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;
using GpuTiming = ScriptedGpu;

TEST_F(GpuTiming, TimesACandidateAgainstTheSeedInAlternatingOrder) {
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
  EXPECT_EQ(result.provenance.harness_version, "cuda-3");
  EXPECT_THAT(result.provenance.compiler, HasSubstr("NVRTC"));
  EXPECT_THAT(result.provenance.compiler_flags, HasSubstr("-arch=sm_90a"));
  EXPECT_NEAR(result.provenance.noise_floor, 0, 1e-6);
  EXPECT_EQ(result.facts.at("frequency_mhz"), 1500);
  EXPECT_GT(result.facts.at("registers"), 0);
  EXPECT_EQ(result.facts.at("processes"), 2);
  EXPECT_EQ(result.cases[0].candidate_ns.size(), 16);
  EXPECT_LT(result.facts.at("log2_low"), log2_speedup_scalar(result));
  EXPECT_GT(result.facts.at("log2_high"), log2_speedup_scalar(result));
  EXPECT_LT(result.facts.at("log2_high") - result.facts.at("log2_low"), 0.2);
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

TEST_F(GpuTiming, FlushesBeforeEverySpanAndQueuesEverythingBehindADelay) {
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

TEST_F(GpuTiming, GivesEveryTimedLaunchInputsThatItHasNotSeen) {
  options_.target_log2_halfwidth = 0;
  options_.time_budget_s = 60;  // a busy machine affords as many rounds
  std::vector<std::string> seen;
  const auto note = [&](FakeLaunch& launch) {
    affine(launch, launch.sizes[0]);
    seen.push_back(std::to_string(launch.runner) + input_of(launch));
  };
  ASSERT_EQ(measure_kernel("noted", note).status, MeasurementStatus::ok);
  std::map<std::string, int> times;
  for (const std::string& input : seen) ++times[input];
  const auto once = std::count_if(times.begin(), times.end(), [](const auto& entry) { return entry.second == 1; });
  EXPECT_GE(once, 2 * 2 * 8 * 5) << "two processes, two cases, eight rounds, five launches of 10 us in a turn of 50 us";
}

constexpr std::int64_t kStallNs = 19000000;  // more than nine tenths of the longest delay, 20 ms

// As fast as the seed on inputs that its process has not met, ten times faster on others.
class RememberingKernel {
 public:
  void operator()(FakeLaunch& launch) {
    affine(launch, launch.sizes[0]);
    is_new = ++met_[std::to_string(launch.runner) + input_of(launch)] == 1;
    launch.ns = is_new ? 20000 : 2000;
  }
  bool is_new = false;

 private:
  std::map<std::string, int> met_;
};

TEST_F(GpuTiming, ResultsKeptByTheContentOfInputsGainNothing) {
  RememberingKernel kernel;
  const Measurement result = measure_kernel("remembers", std::ref(kernel));
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  EXPECT_NEAR(log2_speedup_scalar(result), 0, 0.01);
}

TEST_F(GpuTiming, NorInRoundsThatAreTakenAgainForAClockThatDropped) {
  RememberingKernel kernel;
  world_.mhz = [](int reading) { return reading % 8 < 4 ? 700.0 : 1500.0; };  // in every other round
  const Measurement result = measure_kernel("remembers", std::ref(kernel));
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  EXPECT_GE(result.facts.at("throttled_rounds"), 16);
  EXPECT_FALSE(result.facts.contains("unstable"));
  EXPECT_NEAR(log2_speedup_scalar(result), 0, 0.01);
}

TEST_F(GpuTiming, NorInRoundsWhoseFirstSpanWasVoid) {
  RememberingKernel kernel;
  int turns = 0;
  world_.stall_ns = [&] {  // every third time, so that there are rounds enough without
    return std::exchange(kernel.is_new, false) && ++turns % 3 == 0 ? kStallNs : 0;
  };
  const Measurement result = measure_kernel("stalls", std::ref(kernel));
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  EXPECT_FALSE(result.facts.contains("unstable"));
  EXPECT_NEAR(log2_speedup_scalar(result), 0, 0.01);
}

TEST_F(GpuTiming, SpansThatAreVoidAgainAndAgainEndTheRepeatsWithAVerdict) {
  int spans = 0;
  world_.stall_ns = [&spans] { return ++spans % 2 == 1 ? kStallNs : 0; };
  const Measurement result = measure_kernel("same", world_.kernels["run"]);
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  EXPECT_EQ(result.facts.at("unstable"), 1) << "each round was kept with a second span on the same inputs";
}

TEST_F(GpuTiming, TheIntervalKnowsWhatSetsProcessesApart) {
  options_.max_rounds = 64;
  const auto halfwidth = [](const Measurement& m) { return (m.facts.at("log2_high") - m.facts.at("log2_low")) / 2; };
  const Measurement even = measure_kernel("even", world_.kernels["run"]);
  const Measurement uneven = measure_kernel("uneven", [](FakeLaunch& launch) {
    affine(launch, launch.sizes[0]);
    launch.ns = launch.runner % 2 == 0 ? 20000 : 24000;  // as another placement in memory may do
  });
  ASSERT_EQ(uneven.status, MeasurementStatus::ok) << uneven.log;
  EXPECT_EQ(even.facts.at("processes"), 2);
  EXPECT_GT(uneven.facts.at("processes"), 2);
  EXPECT_GT(halfwidth(uneven), 3 * halfwidth(even));
}

TEST_F(GpuTiming, InputSetsStayWithinTheirMemory) {
  const auto most_launches = [&] {
    world_.calls.clear();
    EXPECT_EQ(measure_kernel("same", world_.kernels["run"]).status, MeasurementStatus::ok);
    std::size_t most = 0;
    std::size_t count = 0;
    for (const std::string& call : world_.calls) {
      if (call == "start") count = 0;
      if (call == "same") most = std::max(most, ++count);
    }
    return most;
  };
  EXPECT_GE(most_launches(), 3) << "launches of 20 us in a turn of 50 us";
  options_.input_memory_mb = 1;
  EXPECT_EQ(most_launches(), 1);
}

TEST_F(GpuTiming, RoundsOfALowClockAreTimedAgain) {
  world_.mhz = [](int reading) { return reading > 40 && reading < 48 ? 700.0 : 1500.0; };
  const Measurement result = measure_kernel("same", world_.kernels["run"]);
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  EXPECT_EQ(result.facts.at("frequency_mhz"), 1500);
  EXPECT_FALSE(result.facts.contains("unstable"));
}

TEST_F(GpuTiming, AClockThatStaysLowEndsTheRepeatsWithAVerdict) {
  int high = 0;
  world_.mhz = [&high](int) { return ++high % 8 == 0 ? 3000.0 : 700.0; };
  const Measurement result = measure_kernel("same", world_.kernels["run"]);
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  EXPECT_EQ(result.facts.at("unstable"), 1);
  EXPECT_GT(result.facts.at("throttled_rounds"), 0);
}

TEST_F(GpuTiming, ASpanThatBeganBeforeTheQueueWasFullIsTimedAgain) {
  world_.queue_ns = 30000;  // five launches and two delays do not fit into the first delay of 100 us
  const Measurement result = measure_kernel("same", world_.kernels["run"]);
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  EXPECT_NEAR(log2_speedup_scalar(result), 0, 0.01);
  for (const CaseTiming& timing : result.cases) {
    for (const float ns : timing.candidate_ns) EXPECT_NEAR(ns, 20000, 100);
  }
}

TEST_F(GpuTiming, AHostThatQueuesMoreSlowlyThanTheLongestDelayIsAnErrorAndNoLabel) {
  world_.queue_ns = 30000000;
  EXPECT_ERROR(measure_kernel("same", world_.kernels["run"]), ErrorKind::environment,
               HasSubstr("longer than 18 ms to queue the launches of a turn, 10 times in a row"));
}

TEST_F(GpuTiming, ATurnQueuesNoMoreThanADriverTakes) {
  world_.kernels["run"] = world_.kernels["many"] = [](FakeLaunch& launch) {
    affine(launch, launch.sizes[0]);
    launch.ns = 200;
  };
  std::string text = text_of("many");
  for (int i = 1; i < 60; ++i) text = "#pragma kernelcast launch many grid(1) block(32)\n" + text;
  const Measurement result = measure({text}).at(0);
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  std::size_t most = 0, count = 0;
  for (const std::string& call : world_.calls) {
    if (call == "start") count = 0;
    if (call == "many") most = std::max(most, ++count);
  }
  EXPECT_EQ(most, 480) << "eight launches of 60 kernels, beside a seed of one";
}

TEST_F(GpuTiming, ATimeThatNoGpuCanHaveIsNoLabel) {
  options_.min_rounds = options_.max_rounds = 3;
  const Measurement result = measure_kernel("hasty", [](FakeLaunch& launch) {
    affine(launch, launch.sizes[0]);
    launch.ns = 1;
  });
  EXPECT_EQ(result.status, MeasurementStatus::incorrect);
  EXPECT_THAT(result.log, HasSubstr("case even: 1 ns a run is impossible"));
  EXPECT_TRUE(result.cases.empty());
}

TEST(GpuSpeedLimit, AccusesNobodyWhoseOutputsMayLieInTheCache) {
  const CudaTask task;
  CaseSpec input_case = task.pack().cases[0];
  FakeWorld world;
  GpuDevice device = fake_backend(world).description;
  const auto least_us = [&](std::int64_t n) {
    input_case.sizes["N"] = n;
    return least_nanoseconds(device, task.pack(), input_case) / 1e3;
  };
  EXPECT_EQ(least_us(4096), 0.1) << "a launch";
  EXPECT_NEAR(least_us(std::int64_t{12} << 20), 1.2, 0.05) << "48 MB at 128 bytes a cycle and multiprocessor";
  EXPECT_NEAR(least_us(std::int64_t{256} << 20), 244, 1) << "a GB without 50 MB at 3.35 TB/s, of which 1.25 times";
  device.l2_bytes = 0;
  EXPECT_LT(least_us(std::int64_t{256} << 20), 30) << "a cache of unknown size may hold all of it";
  device = GpuDevice();
  EXPECT_EQ(least_us(std::int64_t{256} << 20), 0.1) << "nothing is known";
}

}  // namespace
}  // namespace kc::test
