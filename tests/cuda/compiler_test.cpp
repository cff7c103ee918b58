#include "cuda/compiler.h"

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>

#include "base/error.h"
#include "cuda/contract.h"
#include "measure/compile.h"
#include "tests/cuda/cuda_task.h"
#include "tests/cuda/needs_nvrtc.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kArchitectures[] = {"sm_80", "sm_90a", "sm_100a"};

CudaSource source_of(const std::string& text, const std::string& arch = "sm_90a") { return {"k.cu", text, arch, {}}; }

class CudaCompilation : public ::testing::Test {
 protected:
  void SetUp() override { KC_NEEDS_NVRTC(); }
  CudaCompileOptions options_;
};

constexpr const char* kShared = R"(extern "C" __global__ void __launch_bounds__(256) run(const float* x, float* y) {
  __shared__ float s[64];
  s[threadIdx.x & 63] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[(threadIdx.x + 1) & 63];
}
)";

// An array that is indexed by data lies in local memory.
constexpr const char* kStack = R"(extern "C" __global__ void run(const int* x, float* y) {
  float many[64];
  for (int i = 0; i < 64; ++i) many[i] = y[i];
  for (int i = 0; i < 64; ++i) many[x[i] & 63] += many[i];
  for (int i = 0; i < 64; ++i) y[i] = many[i];
}
)";

TEST_F(CudaCompilation, ReadsRegistersSharedMemoryThreadsAndTheStackOnEveryArchitecture) {
  CudaCompiler compiler(options_);
  for (const char* arch : kArchitectures) {
    const CudaBinary shared = compiler.compile(source_of(kShared, arch));
    ASSERT_TRUE(shared.ok) << arch << shared.log;
    ASSERT_EQ(shared.facts.kernels.size(), 1) << arch;
    const KernelFacts& facts = shared.facts.kernels[0];
    EXPECT_EQ(facts.name, "run");
    EXPECT_EQ(facts.static_shared_bytes, 256) << arch;
    EXPECT_EQ(facts.max_threads, 256) << arch;
    EXPECT_GT(facts.registers, 4) << arch;
    EXPECT_LT(facts.registers, 64) << arch;
    EXPECT_EQ(facts.stack_bytes, 0) << arch;
    const CudaBinary stack = compiler.compile(source_of(kStack, arch));
    ASSERT_TRUE(stack.ok) << arch << stack.log;
    EXPECT_EQ(stack.facts.kernels.at(0).stack_bytes, 256) << arch;
  }
}

TEST_F(CudaCompilation, TheElfFileAndTheReportAgreeOnRegisters) {
  CudaCompiler compiler(options_);
  for (const char* arch : kArchitectures) {
    const CudaBinary binary = compiler.compile(source_of(kShared, arch));
    const CubinReading without_report = read_cubin(binary.cubin, "");
    ASSERT_TRUE(without_report.ok);
    EXPECT_EQ(without_report.facts.kernels.at(0).registers, binary.facts.kernels.at(0).registers) << arch;
  }
}

TEST_F(CudaCompilation, CountsSpillsWhereRegistersAreScarce) {
  CudaSource source = source_of(R"(extern "C" __global__ void run(const float* x, float* y) {
  float v[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) v[i] = x[i * 32 + threadIdx.x];
#pragma unroll
  for (int i = 0; i < 96; ++i) y[i * 32 + threadIdx.x] = v[i] * v[95 - i] + v[(i * 7) % 96];
}
)");
  source.options = {"--maxrregcount=32"};
  const CudaBinary binary = CudaCompiler(options_).compile(source);
  ASSERT_TRUE(binary.ok) << binary.log;
  EXPECT_LE(binary.facts.kernels.at(0).registers, 32);
  EXPECT_GT(binary.facts.kernels.at(0).spill_store_bytes, 0);
  EXPECT_GT(binary.facts.kernels.at(0).spill_load_bytes, 0);
}

TEST_F(CudaCompilation, NamesOurLineInTheCompilersErrors) {
  const CudaTask task;
  const std::string text = std::string(kCudaSource) + "void __device__ f() { undeclared = 3; }\n";
  const auto contract = read_contract(text);
  const CudaBinary binary = CudaCompiler(options_).compile(
      {"wrong.cu", cuda_unit(task.pack(), *contract, {{"BLOCK", "32"}}, "wrong.cu"), "sm_90a", {}});
  EXPECT_FALSE(binary.ok);
  EXPECT_THAT(binary.log, HasSubstr("wrong.cu(6): error: identifier \"undeclared\" is undefined"));
}

TEST_F(CudaCompilation, ShowsTheErrorBehindPagesOfWarnings) {
  std::string text = "__device__ void f() {\n";
  for (int i = 0; i < 200; ++i) text += "  int unused" + std::to_string(i) + " = 1;\n";
  const CudaBinary binary = CudaCompiler(options_).compile(source_of(text + "  wrong;\n}\n"));
  EXPECT_FALSE(binary.ok);
  EXPECT_THAT(binary.log, HasSubstr("k.cu(202): error"));
  EXPECT_LE(binary.log.size(), kLogExcerpt);
}

TEST_F(CudaCompilation, FindsTheToolkitsHeaders) {
  const std::string text =
      "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <mma.h>\n"
      "extern \"C\" __global__ void run(__half* x) { x[0] = __float2half(1.0f); }\n";
  CudaCompiler compiler(options_);
  if (!compiler.toolkit().has_crt) GTEST_SKIP() << "the toolkit lacks crt/ (pip install nvidia-cuda-crt)";
  const CudaBinary binary = compiler.compile(source_of(text));
  EXPECT_TRUE(binary.ok) << binary.log;
  if (!compiler.toolkit().has_core_libraries) GTEST_SKIP() << "the toolkit lacks cccl (pip install nvidia-cuda-cccl)";
  const CudaBinary cub = compiler.compile(
      source_of("#include <cub/block/block_reduce.cuh>\n#include <cooperative_groups.h>\n"
                "extern \"C\" __global__ void run(float* x) {\n"
                "  using Reduce = cub::BlockReduce<float, 128>;\n  __shared__ typename Reduce::TempStorage memory;\n"
                "  const float sum = Reduce(memory).Sum(x[threadIdx.x]);\n  if (threadIdx.x == 0) x[0] = sum;\n}\n"));
  EXPECT_TRUE(cub.ok) << cub.log;
}

TEST_F(CudaCompilation, AnIncludeDisclosesNoFileOfTheMachine) {
  CudaCompiler compiler(options_);
  for (const std::string& piece : compiler.missing_isolation()) {
    if (piece.starts_with("Landlock")) GTEST_SKIP() << "no Landlock on this machine";  // a user of its own is not it
  }
  const TempFolder folder;
  const std::string secret = "kernelcast_secret_5839";
  folder.write("secret.h", secret + "\n");
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  for (const std::string& path : {(folder / "secret.h").string(), std::string("/etc/hostname"),
                                  std::string("../../../../../../../../../etc/hostname"), std::string("/etc/passwd"),
                                  std::string("/proc/self/environ")}) {
    const CudaBinary binary =
        compiler.compile(source_of("#include \"" + path + "\"\nextern \"C\" __global__ void run() {}\n"));
    EXPECT_FALSE(binary.ok) << path;
    EXPECT_THAT(binary.log, HasSubstr("cannot open source file")) << path;
    EXPECT_THAT(binary.log, AllOf(Not(HasSubstr(secret)), Not(HasSubstr("root:"))));
  }
}

TEST_F(CudaCompilation, AWorkerIsStoppedAtItsLimitAndReplaced) {
  options_.timeout_s = 2;
  options_.jobs = 1;
  CudaCompiler compiler(options_);
  const std::string bomb = R"(constexpr unsigned long long spin(unsigned long long n) {
  unsigned long long s = 0;
  for (unsigned long long i = 0; i < n; ++i) s = s * 31 + i;
  return s;
}
template <int N> struct Bomb { static constexpr unsigned long long value = spin(1000000 + N) + Bomb<N - 1>::value; };
template <> struct Bomb<0> { static constexpr unsigned long long value = 0; };
extern "C" __global__ void run(unsigned long long* y) { *y = Bomb<200>::value; }
)";
  const auto start = std::chrono::steady_clock::now();
  const CudaBinary binary = compiler.compile(source_of(bomb));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_FALSE(binary.ok);
  EXPECT_THAT(binary.log, HasSubstr("k.cu: the compiler was stopped after 2 s"));
  EXPECT_LT(took.count(), 6);
  EXPECT_TRUE(compiler.compile(source_of(kShared)).ok) << "by a new worker";
}

TEST_F(CudaCompilation, AMemoryBombEndsTheWorkerAndNothingElse) {
  options_.memory_limit_mb = 400;
  options_.timeout_s = 20;
  CudaCompiler compiler(options_);
  std::string bomb = "#define A0 x[0]+x[1]+x[2]+x[3]+x[4]+x[5]+x[6]+x[7]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "A" + std::to_string(i - 1);
    bomb += "#define A" + std::to_string(i);
    for (int k = 0; k < 8; ++k) bomb += (k == 0 ? " " : "+") + before;
    bomb += "\n";
  }
  const CudaBinary binary =
      compiler.compile(source_of(bomb + "extern \"C\" __global__ void run(float* x, float* y) { *y = A8; }\n"));
  EXPECT_FALSE(binary.ok);
  EXPECT_THAT(binary.log, ::testing::AnyOf(HasSubstr("limit of memory"), HasSubstr("memory")));
  EXPECT_TRUE(compiler.compile(source_of(kShared)).ok);
}

TEST_F(CudaCompilation, AnswersKnownSourcesFromMemoryInLessThanAMillisecond) {
  CudaCompiler compiler(options_);
  const CudaSource good = source_of(kShared);
  const CudaSource bad = source_of("wrong");
  EXPECT_FALSE(compiler.compile(good).from_cache);
  EXPECT_FALSE(compiler.compile(bad).from_cache);
  for (const CudaSource& source : {good, bad}) {
    double fastest = 1;
    for (int i = 0; i < 20; ++i) {
      const auto start = std::chrono::steady_clock::now();
      const CudaBinary binary = compiler.compile(source);
      fastest = std::min(fastest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      EXPECT_TRUE(binary.from_cache);
      EXPECT_EQ(binary.ok, source.unit == good.unit);
    }
    EXPECT_LT(fastest, 1e-3);
  }
}

TEST_F(CudaCompilation, KeepsCompilationsOnDiskByContent) {
  const TempFolder folder;
  options_.cache = folder / "cubins";
  const CudaBinary first = CudaCompiler(options_).compile(source_of(kShared));
  CudaCompiler second(options_);
  const CudaBinary again = second.compile(source_of(kShared));
  EXPECT_TRUE(again.from_cache);
  EXPECT_EQ(again.cubin, first.cubin);
  EXPECT_EQ(again.facts.kernels.at(0).registers, first.facts.kernels.at(0).registers);
  EXPECT_FALSE(second.compile(source_of(kShared, "sm_80")).from_cache);
  CudaSource other = source_of(kShared);
  other.options = {"--use_fast_math"};
  EXPECT_FALSE(second.compile(other).from_cache);
}

TEST_F(CudaCompilation, ADamagedEntryOnDiskCountsAsAbsent) {
  const TempFolder folder;
  options_.cache = folder / "cubins";
  CudaCompiler(options_).compile(source_of(kShared));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(options_.cache)) {
    if (entry.is_regular_file() && entry.file_size() > 0)
      std::filesystem::resize_file(entry.path(), entry.file_size() - 7);
  }
  const CudaBinary binary = CudaCompiler(options_).compile(source_of(kShared));
  EXPECT_TRUE(binary.ok);
  EXPECT_FALSE(binary.from_cache);
}

TEST_F(CudaCompilation, CompilesManySourcesInOrder) {
  CudaCompiler compiler(options_);
  std::vector<CudaSource> sources;
  for (int i = 0; i < 6; ++i) {
    const std::string name = "run" + std::to_string(i);
    sources.push_back(source_of(i == 3 ? "wrong" : "extern \"C\" __global__ void " + name + "() {}\n"));
  }
  const std::vector<CudaBinary> binaries = compiler.compile_all(sources);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(binaries[i].ok, i != 3) << i;
    if (!binaries[i].ok) continue;
    EXPECT_EQ(binaries[i].facts.kernels.at(0).name, "run" + std::to_string(i));
  }
}

TEST_F(CudaCompilation, SaysWhereItLookedForNvrtc) {
  options_.toolkit = "/nonexistent/cuda";
  EXPECT_ERROR(CudaCompiler{options_}, ErrorKind::environment, HasSubstr("/nonexistent/cuda"));
}

}  // namespace
}  // namespace kc::test
