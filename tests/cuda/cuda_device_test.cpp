// Statuses of candidates on a GPU, by a scripted one.
#include <gmock/gmock.h>

#include "cuda/gpu_messages.h"
#include "tests/cuda/scripted_candidates.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;
using CudaDevice = ScriptedGpu;

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

TEST_F(CudaDevice, NotesWhetherTheSameBytesCameTwiceAndHowCloseTheToleranceWas) {
  const Measurement honest = measure_kernel("honest", world_.kernels["run"]);
  ASSERT_EQ(honest.status, MeasurementStatus::ok) << honest.log;
  EXPECT_EQ(honest.facts.at("deterministic"), 1);
  EXPECT_LT(honest.facts.at("tolerance_share"), 0.1);
  const Measurement restless = measure_kernel("restless", [](FakeLaunch& l) {
    std::vector<std::uint32_t> before(static_cast<std::size_t>(l.sizes[0]));
    std::memcpy(before.data(), l.buffers[1], 4 * before.size());
    affine(l, l.sizes[0]);
    auto* y = reinterpret_cast<std::uint32_t*>(l.buffers[1]);
    for (std::size_t i = 0; i < before.size(); ++i) y[i] ^= before[i] & 1;
  });
  ASSERT_EQ(restless.status, MeasurementStatus::ok) << restless.log;
  EXPECT_EQ(restless.facts.at("deterministic"), 0) << "its last bit is that of the memory before";
  const Measurement rough = measure_kernel("rough", [](FakeLaunch& l) {
    affine(l, l.sizes[0]);
    auto* y = reinterpret_cast<float*>(l.buffers[1]);
    for (std::int64_t i = 0; i < l.sizes[0]; ++i) y[i] *= 1 + 6e-7f;
  });
  ASSERT_EQ(rough.status, MeasurementStatus::ok) << rough.log;
  EXPECT_GT(rough.facts.at("tolerance_share"), 0.3);
  EXPECT_LT(rough.facts.at("tolerance_share"), 1);
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

TEST_F(CudaDevice, CountsProcessesOfOthersAndWarnsOnce) {
  world_.kernels["wrong"] = [](FakeLaunch&) {};
  EXPECT_EQ(measure({text_of("run")}).at(0).facts.at("other_processes"), 0);
  world_.processes = {4711, 4712};
  ::testing::internal::CaptureStderr();
  const std::vector<Measurement> results = measure(std::vector(18, text_of("wrong")));  // two sessions
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(results.back().status, MeasurementStatus::incorrect) << "they do not end the run";
  EXPECT_EQ(results.back().facts.at("other_processes"), 2);
  const std::string warning = "other processes use the GPU (4711, 4712)";
  EXPECT_THAT(said, HasSubstr(warning));
  EXPECT_EQ(said.find(warning, said.find(warning) + 1), std::string::npos) << "once is enough";
  CudaBackend blind = fake_backend(world_);
  blind.monitor.reset();
  EXPECT_FALSE(measure({text_of("run")}, std::move(blind)).at(0).facts.contains("other_processes"));
}

TEST_F(CudaDevice, ADeviceThatFailsIsNoFaultOfTheCandidate) {
  world_.kernels["unlucky"] = [](FakeLaunch& l) { l.status = kUnknownError; };
  EXPECT_ERROR(measure({text_of("unlucky")}), ErrorKind::environment, HasSubstr("the GPU failed: error 999"));
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
                                Fields{"prepare"}, Fields{"turn", to_field(TurnMessage{1, 3}), "a"}, Fields{"arm"},
                                Fields{"go", to_field(GoMessage{})}, Fields{"collect"}, Fields{"host", "x", "y"}}) {
    const Fields reply = runner.answer(request);
    ASSERT_EQ(reply.size(), 2);
    EXPECT_EQ(from_field<ReplyMessage>(reply[0])->verdict, TurnVerdict::environment);
  }
}

}  // namespace
}  // namespace kc::test
