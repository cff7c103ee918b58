// Candidates with host code, from their text to a label, on a scripted GPU. In a process of their own: see
// host_sandbox_test.cpp.
#include <gmock/gmock.h>

#include "cuda/admission.h"
#include "cuda/candidate.h"
#include "cuda/emulation.h"
#include "tests/cuda/host_wrapper.h"
#include "tests/cuda/scripted_candidates.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kHostLine = 4;  // of `#pragma kernelcast host`

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
  std::string text_of_failure(const std::string& body, const std::string& before = "") {
    const Measurement result = measure({kTwoKernels + wrapper(body, before)}).at(0);
    return std::string(name_of(result.status)) + ": " + result.log;
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
  const Measurement result = measure({kTwoKernels + wrapper(kHonestBody)}).at(0);
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
  ASSERT_EQ(measure({kTwoKernels + wrapper(kHonestBody)}).at(0).status, MeasurementStatus::ok);
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
  ASSERT_EQ(measure({kTwoKernels + wrapper(kHonestBody)}).at(0).status, MeasurementStatus::ok);
  std::size_t seeds = 0;
  const auto& calls = world_.calls;
  const auto begin = static_cast<std::size_t>(std::find(calls.begin(), calls.end(), "tensor_map") - calls.begin());
  for (std::size_t i = begin; i < calls.size(); ++i) {
    EXPECT_NE(calls[i], "start") << "no event of a runner counts";
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
  const auto results = measure({kTwoKernels + wrapper(kHonestBody), text_of("run")});
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
  EXPECT_THAT(text_of_failure("  return 7;"),
              AllOf(HasSubstr("runtime_error: case even"), HasSubstr("`run` returned 7")));
  EXPECT_THAT(text_of_failure(arrays + "  return host->launch(host, \"plus_two\", one, one, one, 0, parameters);"),
              AllOf(HasSubstr("returned 500: launch of 'plus_two'"), HasSubstr("extern \"C\"")));
  EXPECT_THAT(text_of_failure(arrays + "  return host->launch(host, \"plus_one\", one, many, one, 0, parameters);"),
              HasSubstr("launch of 'plus_one': block: 2048 in dimension x; at most 1024"));
  EXPECT_THAT(text_of_failure(arrays + "  return host->launch(host, \"plus_one\", none, one, one, 0, parameters);"),
              HasSubstr("grid: 0 in dimension y"));
  EXPECT_THAT(
      text_of_failure(arrays + "  return host->launch(host, \"plus_one\", one, one, one, 1 << 20, parameters);"),
      HasSubstr("shared: 1048576 bytes"));
  EXPECT_THAT(text_of_failure("  return host->zero(host, outputs[0], 4 * c->N + 1);"),
              HasSubstr("zero: not within one output or scratch"));
  EXPECT_THAT(text_of_failure("  return host->zero(host, (void*)inputs[0], 4);"), HasSubstr("zero: not within"));
  EXPECT_THAT(text_of_failure("  alignas(64) char map[256];\n"
                              "  return host->tensor_map(host, map + 8, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0);"),
              HasSubstr("tensor_map: the map is not aligned to 64 bytes"));
  EXPECT_THAT(text_of_failure("  return 0;"), HasSubstr("incorrect: case even: output y[0]"));
}

TEST_F(HostCodeOnAScriptedGpu, AStatusOfTheDeviceInAReturnValueEndsOneCandidateOnly) {
  const auto results = measure({kTwoKernels + wrapper("  return 999;"), text_of("run")});
  EXPECT_EQ(results[0].status, MeasurementStatus::runtime_error);
  EXPECT_THAT(results[0].log, HasSubstr("returned 999"));
  EXPECT_EQ(results[1].status, MeasurementStatus::ok) << results[1].log;
}

// What a process with foreign code in it may answer.
class LyingLink : public FakeLink {
 public:
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

 private:
  Lie lie_;
  bool has_host_code_ = false;
};

TEST_F(HostCodeOnAScriptedGpu, AnAnswerBeforeTheOutputsAreThereIsFoundByTheirDigest) {
  const auto hasty = [](LyingLink& link, const Fields& request) -> std::optional<Fields> {
    if (request[0] == "go") {
      link.put_off = request;
      return Fields{to_field(ReplyMessage{}), ""};
    }
    if (request[0] == "collect") link.truth(link.put_off, 1, {});
    return std::nullopt;
  };
  const auto result =
      measure_by([&] { return std::make_unique<LyingLink>(world_, hasty); }, {kTwoKernels + wrapper(kHonestBody)})
          .at(0);
  EXPECT_EQ(result.status, MeasurementStatus::runtime_error);
  EXPECT_THAT(result.log, HasSubstr("answered before the outputs were there"));
}

TEST_F(HostCodeOnAScriptedGpu, WhatItsProcessSaysOfTheMachineIsNotBelieved) {
  const auto blames = [](LyingLink&, const Fields& request) -> std::optional<Fields> {
    if (request[0] != "go") return std::nullopt;
    ReplyMessage reply;
    reply.verdict = TurnVerdict::environment;
    reply.status = kUnknownError;
    return Fields{to_field(reply), "the machine burns"};
  };
  const auto result =
      measure_by([&] { return std::make_unique<LyingLink>(world_, blames); }, {kTwoKernels + wrapper(kHonestBody)})
          .at(0);
  EXPECT_EQ(result.status, MeasurementStatus::runtime_error);
  EXPECT_THAT(result.log, HasSubstr("the machine burns"));
}

TEST_F(HostCodeOnAScriptedGpu, ATurnThatTakesNoTimeIsNotInfinitelyFast) {
  const auto result = measure({kTwoKernels + wrapper(kHonestBody)}).at(0);
  ASSERT_EQ(result.status, MeasurementStatus::ok);
  world_.kernels["doubled"] = [](FakeLaunch& launch) {
    affine(launch, launch.sizes[0]);
    launch.ns = 0;
  };
  world_.kernels["plus_one"] = [](FakeLaunch& launch) { launch.ns = 0; };
  world_.queue_ns = 0;
  const auto free = measure({kTwoKernels + wrapper(kHonestBody)}).at(0);
  ASSERT_EQ(free.status, MeasurementStatus::ok) << free.log;
  for (const CaseTiming& timing : free.cases) {
    for (const float ns : timing.candidate_ns) EXPECT_GT(ns, 0);
  }
}

class HostCodeCandidate : public ::testing::Test {
 protected:
  void SetUp() override { KC_NEEDS_NVRTC(); }
  CompiledCandidate compile(const std::string& source) {
    if (!compiler_) compiler_.emplace(CudaCompileOptions{}, quick_options());
    Hardware hardware;
    hardware.compute_capability = "9.0";
    hardware.multiprocessors = 132;
    hardware.max_threads_per_multiprocessor = 2048;
    const Candidate candidate{"w.cu BLOCK=64", {"cuda", "id", source, {{"BLOCK", "64"}}}, false, ""};
    return compile_candidate(*compiler_, task_.pack(), candidate, sm_limits(hardware));
  }
  CudaTask task_;
  std::optional<CudaCompiler> compiler_;
};

TEST_F(HostCodeCandidate, HoldsBothPartsAndTheSecondTimeNoCompilerRuns) {
  const CompiledCandidate first = compile(kTwoKernels + wrapper(kHonestBody));
  ASSERT_TRUE(first.ok) << first.log;
  EXPECT_TRUE(first.has_host_code());
  EXPECT_THAT(first.host_library.substr(0, 4), ::testing::StrEq("\x7f"
                                                                "ELF"));
  EXPECT_EQ(first.limits.threads_per_block, 1024);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(compile(kTwoKernels + wrapper(kHonestBody)).host_library, first.host_library);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(100));
}

TEST_F(HostCodeCandidate, AnotherHostPartIsAnotherCompilation) {
  const CompiledCandidate one = compile(kTwoKernels + wrapper("  return 1;"));
  const CompiledCandidate two = compile(kTwoKernels + wrapper("  return 2;"));
  ASSERT_TRUE(one.ok && two.ok);
  EXPECT_EQ(one.binary.cubin, two.binary.cubin);
  EXPECT_NE(one.host_library, two.host_library);
}

TEST_F(HostCodeCandidate, ErrorsOfEitherPartNameItsLines) {
  const std::string host_fault = compile(kTwoKernels + wrapper("  return undeclared;")).log;
  EXPECT_THAT(host_fault, HasSubstr("w.cu:" + std::to_string(kHostLine + 4) + ":"));
  EXPECT_THAT(host_fault, HasSubstr("undeclared"));
  const std::string device_fault =
      compile("extern \"C\" __global__ void k() { wrong; }\n#pragma kernelcast host\n" + wrapper("  return 0;")).log;
  EXPECT_THAT(device_fault, HasSubstr("w.cu(1): error: identifier \"wrong\""));
}

TEST_F(HostCodeCandidate, WhatLeadsAroundTheTableIsRefusedByItsLine) {
  const auto log = [&](const std::string& before, const std::string& body = "  return 0;") {
    const CompiledCandidate compiled = compile(kTwoKernels + wrapper(body, before));
    EXPECT_FALSE(compiled.ok);
    return compiled.log;
  };
  EXPECT_THAT(log("\n#include <cuda.h>\n"), HasSubstr("w.cu(6): refused: #include of <cuda.h>"));
  EXPECT_THAT(log("#include <cuda_runtime.h>\n"), HasSubstr("w.cu(5): refused"));
  EXPECT_THAT(log("#include <dlfcn.h>\n"), HasSubstr("refused: #include of <dlfcn.h>"));
  EXPECT_THAT(log("#include \"../../secret.h\"\n"), HasSubstr("only headers of the system"));
  EXPECT_THAT(log("extern \"C\" void* dlopen(const char*, int);\n"), HasSubstr("w.cu(5): refused: loads a library"));
  EXPECT_THAT(log("extern \"C\" int cuInit(unsigned);\n", "  return cuInit(0);"), HasSubstr("cuInit"));
  EXPECT_TRUE(compile(kTwoKernels + wrapper("  return 0;", "#include <cmath>\n// dlopen(\n")).ok);
}

TEST_F(HostCodeCandidate, LaunchDirectivesAndAHostPartDoNotGoTogether) {
  EXPECT_THAT(compile("#pragma kernelcast zero y\n" + (kTwoKernels + wrapper("  return 0;"))).log,
              HasSubstr("w.cu(1): refused: with a host part, its `run` launches and zeroes"));
}

TEST_F(HostCodeCandidate, AdmissionDoesAllButTheLaunch) {
  const CudaTask task(
      "devices: [host, cuda]\n"
      "cuda:\n"
      "  seed: {source: affine.cu, set: {BLOCK: 256}}\n"
      "  candidates:\n"
      "    - {source: wrapped.cu}\n"
      "    - {source: broken.cu}\n",
      {{"wrapped.cu", kTwoKernels + wrapper(kHonestBody)},
       {"broken.cu", kTwoKernels + wrapper("  return undeclared;")}});
  CudaCompiler compiler({}, quick_options());
  const auto variants = compile_variants(compiler, task.pack(), admission_limits().at(1));
  const auto findings = find_faults(variants);
  ASSERT_EQ(findings.size(), 1);
  EXPECT_THAT(findings[0].candidate, HasSubstr("broken.cu"));
  EXPECT_THAT(findings[0].log, HasSubstr("undeclared"));
}

}  // namespace
}  // namespace kc::test
