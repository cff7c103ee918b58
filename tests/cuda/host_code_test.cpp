// Labels of candidates with host code, by a scripted GPU. Before: host_candidate_test.cpp; in a process of its own:
// host_sandbox_test.cpp.
#include <gmock/gmock.h>

#include "tests/cuda/host_wrapper.h"
#include "tests/cuda/scripted_candidates.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;

class HostCodeOnAScriptedGpu : public ScriptedGpu {
 protected:
  void SetUp() override {
    ScriptedGpu::SetUp();
    world_.kernels["doubled"] = [](FakeLaunch& launch) {
      const auto* x = reinterpret_cast<const float*>(launch.buffers.at(0));
      auto* y = reinterpret_cast<float*>(launch.buffers.at(1));
      for (std::int64_t i = 0; i < launch.sizes[0]; ++i) y[i] += 2.0f * x[i];
      launch.ns = 4000;
    };
    world_.kernels["plus_one"] = [](FakeLaunch& launch) {
      auto* y = reinterpret_cast<float*>(launch.buffers.at(0));
      for (std::int64_t i = 0; i < launch.sizes[0]; ++i) y[i] += 1.0f;
      launch.ns = 1000;
    };
    options_.run_timeout_s = 2;
  }
  std::vector<Measurement> measure_by(const GpuLinkFactory& links, const std::vector<std::string>& texts) {
    CudaBackend backend = fake_backend(world_);
    backend.start = links;
    const auto measurer = make_cuda_measurer(options_, 12345, std::move(backend));
    std::vector<MeasureRequest> requests;
    for (const std::string& text : texts) {
      requests.push_back({&task_.pack(), {"w.cu", {"cuda", "id", text, {}}, false, ""}});
    }
    return measurer->measure(requests, {}, {});
  }
};

TEST_F(HostCodeOnAScriptedGpu, IsCompiledLaunchedCheckedAndTimed) {
  const Measurement result = measure({kTwoKernels + wrapper(kHonestWrapper)}).at(0);
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  EXPECT_EQ(result.facts.at("host_code"), 1);
  EXPECT_EQ(result.facts.at("kernels"), 2);
  EXPECT_FALSE(result.facts.contains("frequency_mhz"));
  EXPECT_NEAR(log2_speedup_scalar(result), 2, 0.05) << "5 us against 20 us, the turn's own time taken off";
  for (const CaseTiming& timing : result.cases) {
    for (const float ns : timing.reference_ns) EXPECT_NEAR(ns, 20000, 500);
  }
}

TEST_F(HostCodeOnAScriptedGpu, CallsComeInTheWrappersOrder) {
  ASSERT_EQ(measure({kTwoKernels + wrapper(kHonestWrapper)}).at(0).status, MeasurementStatus::ok);
  std::size_t runs = 0;
  for (std::size_t i = 0; i < world_.calls.size(); ++i) {
    if (world_.calls[i] != "tensor_map") continue;
    ++runs;
    ASSERT_LT(i + 4, world_.calls.size());
    EXPECT_THAT(world_.calls[i + 1], HasSubstr("fill 16"));
    EXPECT_EQ(world_.calls[i + 2], "doubled");
    EXPECT_EQ(world_.calls[i + 3], "plus_one");
  }
  EXPECT_GT(runs, 32);
}

TEST_F(HostCodeOnAScriptedGpu, BothSidesAreTimedFromTheFlushToTheDigest) {
  ASSERT_EQ(measure({kTwoKernels + wrapper(kHonestWrapper)}).at(0).status, MeasurementStatus::ok);
  std::size_t seeds = 0;
  const auto& calls = world_.calls;
  const auto begin = static_cast<std::size_t>(std::find(calls.begin(), calls.end(), "tensor_map") - calls.begin());
  for (std::size_t i = begin; i < calls.size(); ++i) {
    if (!calls[i].starts_with("runner") || i + 2 >= calls.size() || calls[i + 2] != "run") continue;
    ++seeds;
    EXPECT_EQ(calls[i - 1], "synchronize") << "of the flush";
    EXPECT_EQ(calls[i + 1], "fill 8") << "the digest's place";
    std::size_t end = i + 2;
    while (calls[end] == "run") ++end;
    EXPECT_EQ(calls[end], kDigestKernel);
    EXPECT_EQ(calls[end + 1], "synchronize");
  }
  EXPECT_GT(seeds, 16);
}

TEST_F(HostCodeOnAScriptedGpu, TheTimesOfOtherCandidatesStayThoseOfTheDevice) {
  const auto results = measure({kTwoKernels + wrapper(kHonestWrapper), text_of("run")});
  ASSERT_EQ(results[1].status, MeasurementStatus::ok) << results[1].log;
  EXPECT_FALSE(results[1].facts.contains("host_code"));
  EXPECT_EQ(results[1].facts.at("frequency_mhz"), 1500);
  for (const CaseTiming& timing : results[1].cases) {
    for (const float ns : timing.candidate_ns) EXPECT_NEAR(ns, 20000, 1);
  }
}

TEST_F(HostCodeOnAScriptedGpu, SaysWhyARunFailed) {
  const std::string arrays =
      "  const unsigned one[3] = {1, 1, 1}, many[3] = {2048, 1, 1}, none[3] = {1, 0, 1};\n"
      "  void* parameters[] = {(void*)c, (void*)&outputs[0], nullptr};\n";
  const auto launch = [&](const std::string& arguments) {
    return arrays + "  return host->launch(host, " + arguments + ", parameters);";
  };
  const std::vector<std::pair<std::string, std::string>> runs = {
      {"  return 7;", "runtime_error: case even: the host part's `run` returned 7"},
      {launch("\"plus_two\", one, one, one, 0"), "returned 500: launch of 'plus_two': error 500; is it `extern \"C\""},
      {launch("\"plus_one\", one, many, one, 0"), "launch of 'plus_one': block: 2048 in dimension x; at most 1024"},
      {launch("\"plus_one\", none, one, one, 0"), "grid: 0 in dimension y"},
      {launch("\"plus_one\", one, one, one, 1 << 20"), "shared: 1048576 bytes"},
      {"  return host->zero(host, outputs[0], 4 * c->N + 1);", "zero: not within one output or scratch"},
      {"  return host->zero(host, (void*)inputs[0], 4);", "zero: not within one output or scratch"},
      {"  alignas(64) char map[256];\n  return host->tensor_map(host, map + 8, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0);",
       "tensor_map: the map is not aligned to 64 bytes"},
      {"  return 0;", "incorrect: case even: output y[0]"},
  };
  std::vector<std::string> texts;
  for (const auto& [body, failure] : runs) texts.push_back(kTwoKernels + wrapper(body));
  const auto results = measure(texts);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_THAT(std::string(name_of(results[i].status)) + ": " + results[i].log, HasSubstr(runs[i].second));
  }
}

TEST_F(HostCodeOnAScriptedGpu, AStatusOfTheDeviceInAReturnValueEndsOneCandidateOnly) {
  const auto results = measure({kTwoKernels + wrapper("  return 999;"), text_of("run")});
  EXPECT_EQ(results[0].status, MeasurementStatus::runtime_error);
  EXPECT_THAT(results[0].log, HasSubstr("returned 999"));
  EXPECT_EQ(results[1].status, MeasurementStatus::ok) << results[1].log;
}

TEST_F(HostCodeOnAScriptedGpu, AnEndlessRunIsATimeoutAndTheNextOneIsMeasured) {
  world_.kernels["spins"] = [](FakeLaunch& launch) { launch.hangs = true; };
  const std::string spins =
      "  const unsigned one[3] = {1, 1, 1};\n  void* parameters[] = {(void*)c, (void*)&outputs[0], nullptr};\n"
      "  return host->launch(host, \"spins\", one, one, one, 0, parameters);";
  const auto results = measure({kTwoKernels + wrapper(spins), kTwoKernels + wrapper(kHonestWrapper)});
  EXPECT_EQ(results[0].status, MeasurementStatus::timeout) << results[0].log;
  EXPECT_EQ(results[1].status, MeasurementStatus::ok) << results[1].log;
}

TEST(HostCodeRunner, IsNotGivenAnyWithoutItsIsolation) {
  FakeWorld world;
  FakeDriver driver(world);
  GpuRunner runner(driver, kFakeL2, [] { return std::string("Landlock"); });
  const Fields reply = runner.answer({"confine"});
  EXPECT_EQ(from_field<ReplyMessage>(reply.at(0))->verdict, TurnVerdict::environment);
  EXPECT_THAT(reply.at(1), HasSubstr("host code of a candidate is not run without Landlock"));
}

// What a process with foreign code in it may answer.
class LyingLink : public FakeLink {
 public:
  ~LyingLink() override {
    if (has_host_code_) at_end();
  }
  LyingLink(const LyingLink&) = delete;
  LyingLink& operator=(const LyingLink&) = delete;
  using Lie = std::function<std::optional<Fields>(LyingLink&, const Fields&)>;
  LyingLink(FakeWorld& world, Lie lie) : FakeLink(world), lie_(std::move(lie)) {}
  std::optional<Fields> call(const Fields& request, double timeout_s, const std::stop_token& stop) override {
    if (has_host_code_) {
      if (auto reply = lie_(*this, request)) return reply;
    }
    has_host_code_ = has_host_code_ || request[0] == "host";
    return truth(request, timeout_s, stop);
  }
  std::optional<Fields> truth(const Fields& request, double timeout_s, const std::stop_token& stop) {
    return FakeLink::call(request, timeout_s, stop);
  }
  Fields put_off;
  std::function<void()> at_end = [] {};

 private:
  Lie lie_;
  bool has_host_code_ = false;
};

class HostCodeThatLies : public HostCodeOnAScriptedGpu {
 protected:
  Measurement measure_lied(const LyingLink::Lie& lie) {
    return measure_by([&] { return std::make_unique<LyingLink>(world_, lie); }, {kTwoKernels + wrapper(kHonestWrapper)})
        .at(0);
  }
};

TEST_F(HostCodeThatLies, AnAnswerBeforeTheOutputsAreThereIsFoundByTheirDigest) {
  const auto hasty = [](LyingLink& link, const Fields& request) -> std::optional<Fields> {
    if (request[0] == "go") {
      link.put_off = request;
      return Fields{to_field(ReplyMessage{}), ""};
    }
    if (request[0] == "collect") link.truth(link.put_off, 1, {});
    return std::nullopt;
  };
  const auto result = measure_lied(hasty);
  EXPECT_EQ(result.status, MeasurementStatus::runtime_error);
  EXPECT_THAT(result.log, HasSubstr("answered before the outputs were there"));
}

TEST_F(HostCodeThatLies, WhatItsProcessSaysOfTheMachineIsNotBelieved) {
  const auto blames = [](LyingLink&, const Fields& request) -> std::optional<Fields> {
    if (request[0] != "go") return std::nullopt;
    ReplyMessage reply;
    reply.verdict = TurnVerdict::environment;
    reply.status = kUnknownError;
    return Fields{to_field(reply), "the machine burns"};
  };
  const auto result = measure_lied(blames);
  EXPECT_EQ(result.status, MeasurementStatus::runtime_error);
  EXPECT_THAT(result.log, HasSubstr("the machine burns"));
}

TEST_F(HostCodeThatLies, ASeedThatIsSlowerBesideItThanAloneVoidsTheLabel) {
  bool is_beside = false;
  world_.kernels["run"] = [&](FakeLaunch& launch) {
    affine(launch, launch.sizes[0]);
    launch.ns = is_beside ? 30000 : 20000;
  };
  const auto disturbs = [&](LyingLink& link, const Fields&) -> std::optional<Fields> {
    is_beside = true;
    link.at_end = [&] { is_beside = false; };
    return std::nullopt;
  };
  const auto result = measure_lied(disturbs);
  EXPECT_EQ(result.status, MeasurementStatus::runtime_error);
  EXPECT_THAT(result.log, HasSubstr("the seed was 1.5"));
}

TEST_F(HostCodeOnAScriptedGpu, ATurnThatTakesNoTimeIsImpossible) {
  const auto result = measure({kTwoKernels + wrapper(kHonestWrapper)}).at(0);
  ASSERT_EQ(result.status, MeasurementStatus::ok);
  world_.kernels["doubled"] = [](FakeLaunch& launch) {
    affine(launch, launch.sizes[0]);
    launch.ns = 0;
  };
  world_.kernels["plus_one"] = [](FakeLaunch& launch) { launch.ns = 0; };
  world_.queue_ns = 0;
  const auto free = measure({kTwoKernels + wrapper(kHonestWrapper)}).at(0);
  EXPECT_EQ(free.status, MeasurementStatus::incorrect);
  EXPECT_THAT(free.log, HasSubstr("is impossible"));
}

TEST(OutputDigest, IsOfEveryByteOfEveryLaunchAndOfTheKey) {
  std::vector<std::byte> outputs(1024, std::byte{7});
  const auto half = [&](std::size_t launch) { return std::span(outputs).subspan(512 * launch, 512); };
  const std::uint64_t whole = output_digest(outputs, 0, 5);
  EXPECT_EQ(output_digest(half(0), 0, 5) + output_digest(half(1), 1, 5), whole);
  EXPECT_NE(output_digest(half(0), 0, 5), output_digest(half(1), 1, 5)) << "equal outputs, another place";
  EXPECT_NE(output_digest(outputs, 0, 6), whole);
  outputs[1000] = std::byte{8};
  EXPECT_NE(output_digest(outputs, 0, 5), whole);
}

}  // namespace
}  // namespace kc::test
