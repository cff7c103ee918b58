#include "cuda/contract.h"

#include <gmock/gmock.h>

#include "tests/cuda/cuda_task.h"

namespace kc::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal_of(const std::string& source) {
  const auto contract = read_contract(source);
  return contract ? "accepted" : contract.error().text("k.cu");
}

const CaseSpec& first_case(const TaskPack& pack) { return pack.cases.at(0); }

TEST(CudaContract, ReadsLaunchesScratchAndZeroingInTheOrderOfTheLines) {
  const auto contract = read_contract(
      "#pragma kernelcast scratch partial f64(ceil_div(N, 256))\n"
      "  #  pragma kernelcast zero partial\n"
      "#pragma kernelcast launch first grid(ceil_div(N, 256), 2) block(256) shared(8 * 256)\n"
      "__global__ void first() {}\n"
      "#pragma kernelcast launch second grid(1) block(min(N, 64)) when(N > 10)\n");
  ASSERT_TRUE(contract) << contract.error().message;
  EXPECT_THAT(contract->kernels(), ElementsAre("first", "second"));
  ASSERT_EQ(contract->steps.size(), 3);
  EXPECT_EQ(contract->steps[0].zero, "partial");
  EXPECT_EQ(contract->steps[1].launch->grid[1], "2");
  EXPECT_EQ(contract->steps[2].launch->when, "N > 10");
  EXPECT_EQ(contract->scratch.at(0).dtype, DataType::f64);
}

TEST(CudaContract, BlanksDirectivesSoThatLineNumbersStay) {
  const auto contract = read_contract("// one\n#pragma kernelcast launch run grid(1) block(1)\n// three\n");
  ASSERT_TRUE(contract);
  EXPECT_EQ(contract->device_source, "// one\n\n// three\n");
}

TEST(CudaContract, RefusesWhatItDoesNotUnderstandWithTheLine) {
  EXPECT_THAT(refusal_of("__global__ void run() {}\n"), HasSubstr("k.cu: refused: no launch"));
  EXPECT_THAT(refusal_of("\n#pragma kernelcast lunch run grid(1) block(1)\n"),
              HasSubstr("k.cu(2): refused: unknown directive 'lunch'"));
  EXPECT_THAT(refusal_of("#pragma kernelcast launch run grid(1)\n"), HasSubstr("needs grid(...) and block(...)"));
  EXPECT_THAT(refusal_of("#pragma kernelcast launch run grid(1 block(1)\n"), HasSubstr("expected NAME(...)"));
  EXPECT_THAT(refusal_of("#pragma kernelcast launch run grid(1) block(1) stream(2)\n"), HasSubstr("unknown 'stream"));
  EXPECT_THAT(refusal_of("#pragma kernelcast launch run grid(1,2,3,4) block(1)\n"), HasSubstr("one to three"));
  EXPECT_THAT(refusal_of("#pragma kernelcast scratch s f16(3)\n"), HasSubstr("unknown type 'f16'"));
}

TEST(CudaContract, RefusesTextBehindHostAndAHostPartWithoutText) {
  const std::string launch = "#pragma kernelcast launch run grid(1) block(1)\n";
  EXPECT_THAT(refusal_of("\n#pragma kernelcast host int helper();\nint run;\n"),
              HasSubstr("k.cu(2): refused: expected `host` alone"));
  EXPECT_THAT(refusal_of("#pragma kernelcast host \\\nint helper();\n"), HasSubstr("expected `host` alone"));
  EXPECT_EQ(refusal_of("#pragma kernelcast host \t\r\nint run;\n"), "accepted");
  for (const std::string empty :
       {"#pragma kernelcast host", "#pragma kernelcast host\n", "#pragma kernelcast host\n \n"}) {
    EXPECT_EQ(refusal_of("\n" + empty), "k.cu(2): refused: the host part is empty");
    EXPECT_EQ(refusal_of(launch + empty), "k.cu(2): refused: the host part is empty");
  }
}

TEST(CudaContract, LeavesDirectivesInCommentsAndStringsWhereTheyAre) {
  const std::string hidden =
      "/*\n#pragma kernelcast host\n#pragma kernelcast launch old grid(1) block(1)\n*/\n"
      "// continued \\\n#pragma kernelcast host\n"
      "const char* text = R\"(\n#pragma kernelcast host\n)\";\n";
  const auto device = read_contract(hidden + "#pragma kernelcast launch run grid(1) block(1)\n");
  ASSERT_TRUE(device) << device.error().text("k.cu");
  EXPECT_EQ(device->host_line, 0);
  EXPECT_THAT(device->kernels(), ElementsAre("run"));
  EXPECT_EQ(device->steps.at(0).line, 10);
  EXPECT_EQ(device->device_source, hidden + "\n");
  const auto host = read_contract(hidden + "#pragma kernelcast host\n" + hidden);
  ASSERT_TRUE(host) << host.error().text("k.cu");
  EXPECT_EQ(host->host_line, 10);
  EXPECT_EQ(host->device_source, hidden + "\n");
  EXPECT_EQ(host->host_source, hidden);
  EXPECT_THAT(refusal_of(hidden), HasSubstr("k.cu: refused: no launch"));
}

TEST(CudaContract, EvaluatesLaunchShapesForTheCaseAndTheTunables) {
  const CudaTask task;
  const auto contract = read_contract(
      "#pragma kernelcast scratch partial f32(ceil_div(N, BLOCK))\n"
      "#pragma kernelcast zero partial\n"
      "#pragma kernelcast launch run grid(ceil_div(N, BLOCK)) block(BLOCK) shared(BLOCK > 64 ? 1024 : 0)\n"
      "#pragma kernelcast launch tail grid(MULTIPROCESSORS) block(1) when(BLOCK == 1)\n");
  ASSERT_TRUE(contract);
  const auto plan = plan_run(*contract, task.pack(), {{"BLOCK", "128"}}, first_case(task.pack()), {});
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->steps.size(), 2);
  EXPECT_EQ(plan->steps[0].zero, 1) << "the only output, then scratch";
  EXPECT_EQ(plan->steps[1].launch->grid[0], 32);
  EXPECT_EQ(plan->steps[1].launch->shared_bytes, 1024);
  EXPECT_THAT(plan->scratch_bytes, ElementsAre(128));
}

TEST(CudaContract, RefusesShapesBeyondTheDevice) {
  const CudaTask task;
  const auto refusal = [&](const std::string& clauses) {
    const auto contract = read_contract("#pragma kernelcast launch run " + clauses + "\n");
    const auto plan = plan_run(*contract, task.pack(), {{"BLOCK", "128"}}, first_case(task.pack()), {});
    return plan ? "accepted" : plan.error().text("k.cu");
  };
  EXPECT_THAT(refusal("grid(1) block(64, 32)"), HasSubstr("k.cu(1): refused: block: 2048 threads; at most 1024"));
  EXPECT_THAT(refusal("grid(1) block(1, 1, 65)"), HasSubstr("65 in dimension z; at most 64"));
  EXPECT_THAT(refusal("grid(N / 3) block(1)"), HasSubstr("expected an integer"));
  EXPECT_THAT(refusal("grid(0) block(1)"), HasSubstr("at least 1"));
  EXPECT_THAT(refusal("grid(DEPTH) block(1)"), HasSubstr("DEPTH"));
  EXPECT_THAT(refusal("grid(1) block(1) shared(300000)"), HasSubstr("shared: 300000 bytes"));
  EXPECT_THAT(refusal("grid(3) block(1) cluster(2)"), HasSubstr("not a multiple of the cluster"));
  EXPECT_THAT(refusal("grid(1) block(1) when(BLOCK == 1)"), HasSubstr("no launch whose when"));
}

TEST(CudaContract, RefusesScratchBeyondTheLimitAndZeroingOfUnknownNames) {
  const CudaTask task;
  const auto refusal = [&](const std::string& line) {
    const auto contract = read_contract(line + "\n#pragma kernelcast launch run grid(1) block(1)\n");
    const auto plan = plan_run(*contract, task.pack(), {}, first_case(task.pack()), {});
    return plan ? "accepted" : plan.error().message;
  };
  EXPECT_THAT(refusal("#pragma kernelcast scratch s f64(N * 1000000)"), HasSubstr("more than 2048 MB"));
  EXPECT_THAT(refusal("#pragma kernelcast zero x"), HasSubstr("neither an output nor scratch"));
  EXPECT_EQ(refusal("#pragma kernelcast zero y"), "accepted");
}

TEST(CudaContract, DeclaresEveryKernelBeforeTheSourceWithItsParameters) {
  const CudaTask task;
  const auto contract = read_contract(
      "#pragma kernelcast scratch s u32(4)\n#pragma kernelcast launch run grid(1) block(1)\n"
      "__global__ void run(Case c, const float* x, float* y, unsigned* s) {}\n");
  const std::string unit = cuda_unit(task.pack(), *contract, {{"BLOCK", "64"}}, "k.cu");
  EXPECT_THAT(unit, HasSubstr("struct Case { long long N; };\n"));
  EXPECT_THAT(unit, HasSubstr("extern \"C\" __global__ void run(Case c, const float* x, float* y, unsigned int* s);"));
  EXPECT_THAT(unit, HasSubstr("#define BLOCK 64\n#line 1 \"k.cu\"\n\n\n__global__ void run"));
}

TEST(CudaContract, EveryCudaPartOfTheShippedTasksHasLaunchesThatFitEveryCase) {
  int kernels = 0;
  for (const TaskPack& task : load_task_packs(std::filesystem::path(KC_SOURCE_DIR) / "tasks")) {
    if (!task.supports("cuda")) continue;
    const TaskPack pack = pack_for_device(task, "cuda");
    for (const Candidate& candidate : list_candidates(pack)) {
      EXPECT_EQ(candidate.kernel.language, "cuda");
      const auto contract = read_contract(candidate.kernel.source);
      ASSERT_TRUE(contract) << pack.name << ": " << contract.error().text(candidate.name);
      for (const CaseSpec& spec : pack.cases) {
        const auto plan = plan_run(*contract, pack, candidate.kernel.parameters, spec, {});
        EXPECT_TRUE(plan) << pack.name << ": " << plan.error().text(candidate.name);
      }
      ++kernels;
    }
  }
  EXPECT_GT(kernels, 20);
}

TEST(CudaPart, GivesTheDeviceItsOwnSeedCasesAndCandidates) {
  const CudaTask task;
  EXPECT_EQ(task.pack().seed.language, "cuda");
  EXPECT_EQ(task.pack().seed_name, "affine.cu BLOCK=256");
  EXPECT_EQ(task.pack().cases.size(), 2);
  const TaskPack whole = load_task_pack(task.folder());
  EXPECT_EQ(pack_for_device(whole, "host").seed.language, "cpp");
}

}  // namespace
}  // namespace kc::test
