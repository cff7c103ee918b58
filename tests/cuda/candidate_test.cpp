#include "cuda/candidate.h"

#include <gmock/gmock.h>

#include "tests/cuda/cuda_task.h"
#include "tests/cuda/needs_nvrtc.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;

SmLimits limits_of(const std::string& capability, int threads) {
  Hardware hardware;
  hardware.device = "a GPU";
  hardware.compute_capability = capability;
  hardware.multiprocessors = 100;
  hardware.max_threads_per_multiprocessor = threads;
  return sm_limits(hardware);
}

Candidate cuda_candidate(const std::string& source, Parameters parameters = {}) {
  return {"k.cu", {"cuda", "id", source, std::move(parameters)}, false, ""};
}

// Worked out by hand from the programming guide's table.
TEST(CudaOccupancy, FollowsFromRegistersThreadsAndSharedMemory) {
  const SmLimits a100 = limits_of("8.0", 2048);
  const LaunchShape launch{"run", {1000, 1, 1}, {256, 1, 1}, {1, 1, 1}, 0};
  EXPECT_EQ(occupancy_of(a100, {.name = "run", .registers = 32}, launch)->share, 1.0);
  // 64 registers x 256 threads: 4 blocks of 65,536 registers, 32 of 64 warps.
  const auto half = occupancy_of(a100, {.name = "run", .registers = 64}, launch);
  EXPECT_EQ(half->blocks_per_multiprocessor, 4);
  EXPECT_EQ(half->share, 0.5);
  EXPECT_EQ(half->waves, 2.5);
  // 80 KB and 1 KB reserved: two blocks of 164 KB.
  const auto shared =
      occupancy_of(a100, {.name = "run", .registers = 32}, {"run", {1, 1, 1}, {256, 1, 1}, {1, 1, 1}, 80 * 1024});
  EXPECT_EQ(shared->blocks_per_multiprocessor, 2);
  EXPECT_EQ(occupancy_of(limits_of("8.6", 1536), {.name = "run", .registers = 32}, launch)->blocks_per_multiprocessor,
            6);
}

TEST(CudaOccupancy, KnowsEveryGpuOfTheHardwareTable) {
  const HardwareTable table = HardwareTable::load(std::string(KC_SOURCE_DIR) + "/configs/hardware.yaml");
  int gpus = 0;
  for (const std::string& name : table.names()) {
    const Hardware& hardware = table.find(name);
    if (hardware.is_cpu || hardware.max_threads_per_multiprocessor == 0) continue;
    const auto occupancy = occupancy_of(sm_limits(hardware), {.name = "run", .registers = 32},
                                        {"run", {1, 1, 1}, {128, 1, 1}, {1, 1, 1}, 0});
    ASSERT_TRUE(occupancy) << name;
    EXPECT_GT(occupancy->share, 0.9) << name;
    ++gpus;
  }
  EXPECT_GE(gpus, 5);
}

TEST(CudaOccupancy, NamesTheArchitectureThatIsCompiledFor) {
  EXPECT_EQ(limits_of("8.0", 2048).arch(), "sm_80");
  EXPECT_EQ(limits_of("9.0", 2048).arch(), "sm_90a");
  EXPECT_EQ(limits_of("10.0", 2048).arch(), "sm_100a");
  EXPECT_ERROR(limits_of("6.1", 2048), ErrorKind::config, HasSubstr("6.1"));
}

TEST(CudaCandidate, CarriesItsFactsFromTheTextToTheLabel) {
  KC_NEEDS_NVRTC();
  const CudaTask task;
  CudaCompiler compiler({});
  const SmLimits limits = limits_of("9.0", 2048);
  const auto compiled =
      compile_candidate(compiler, task.pack(),
                        {"affine.cu BLOCK=128", {"cuda", "id", kCudaSource, {{"BLOCK", "128"}}}, false, ""}, limits);
  ASSERT_TRUE(compiled.ok) << compiled.log;
  ASSERT_EQ(compiled.plans.size(), 2);
  EXPECT_EQ(compiled.plans[1].steps.at(0).launch->grid[0], 32);
  const Facts facts = facts_of(compiled, limits);
  EXPECT_GT(facts.at("registers"), 0);
  EXPECT_EQ(facts.at("spill_bytes"), 0);
  EXPECT_EQ(facts.at("static_shared_bytes"), 0);
  EXPECT_EQ(facts.at("occupancy"), 1.0);
  EXPECT_EQ(facts.at("kernels"), 1);
}

TEST(CudaCandidate, SaysWhyItWasRefusedAtEveryStage) {
  KC_NEEDS_NVRTC();
  const CudaTask task;
  CudaCompiler compiler({});
  const auto log = [&](const std::string& source) {
    const auto compiled = compile_candidate(compiler, task.pack(), cuda_candidate(source), limits_of("9.0", 2048));
    EXPECT_FALSE(compiled.ok);
    return compiled.log;
  };
  const std::string launch = "#pragma kernelcast launch run grid(1) block(64)\n";
  EXPECT_THAT(log("void f() {}\n"), HasSubstr("refused: no launch"));
  EXPECT_THAT(log("#pragma kernelcast launch run grid(1) block(2048)\n"), HasSubstr("2048 in dimension x"));
  EXPECT_THAT(log(launch + "#include \"/etc/passwd\"\n"), HasSubstr("k.cu(2): refused: #include"));
  EXPECT_THAT(log(launch + "__global__ void run(Case c, const float* x, float* y) { wrong; }\n"),
              HasSubstr("k.cu(2): error: identifier \"wrong\" is undefined"));
  EXPECT_THAT(log(launch + "__global__ void run(Case c, const double* x, float* y) { *y = 1; }\n"),
              HasSubstr("no kernel 'run' with the parameters of the contract"));
  EXPECT_THAT(log(launch + "__global__ void __launch_bounds__(32) run(Case c, const float* x, float* y) { *y = 1; }\n"),
              HasSubstr("exceeds __launch_bounds__"));
  EXPECT_THAT(log("#pragma kernelcast launch run grid(1) block(64) shared(200000)\n"
                  "__global__ void run(Case c, const float* x, float* y) { __shared__ float s[10000]; "
                  "s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); *y = s[63 - threadIdx.x]; }\n"),
              HasSubstr("more registers or shared memory than there are"));
}

}  // namespace
}  // namespace kc::test
