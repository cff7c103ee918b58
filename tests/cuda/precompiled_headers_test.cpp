// Headers that a compile worker keeps: the results are those of a worker that reads them anew.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>

#include "cuda/compiler.h"
#include "tests/cuda/needs_nvrtc.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kCub = "#include <cub/block/block_reduce.cuh>\n";
constexpr const char* kGroups = "#include <cooperative_groups.h>\n";

std::string reduce(int number) {
  return "#define TILE " + std::to_string(number) + "\n" + kCub +
         "extern \"C\" __global__ void run(float* x) {\n"
         "  using Reduce = cub::BlockReduce<float, 128>;\n  __shared__ typename Reduce::TempStorage memory;\n"
         "  int unused;\n  const float sum = Reduce(memory).Sum(x[threadIdx.x] * TILE);\n"
         "  if (threadIdx.x == 0) x[0] = sum;\n}\n";
}

std::string groups(int number) {
  return std::string(kGroups) +
         "extern \"C\" __global__ void run(float* x) {\n  auto block = "
         "cooperative_groups::this_thread_block();\n  block.sync();\n  x[block.thread_rank()] = " +
         std::to_string(number) + ";\n}\n";
}

class PrecompiledHeadersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    KC_NEEDS_NVRTC();
    options_.jobs = 1;
    compiler_ = std::make_unique<CudaCompiler>(options_);
    if (!compiler_->toolkit().has_core_libraries)
      GTEST_SKIP() << "the toolkit lacks cccl (pip install nvidia-cuda-cccl)";
    if (!compiler_->keeps_headers()) GTEST_SKIP() << "no mount namespaces or no Landlock on this machine";
  }

  CudaBinary compile(const std::string& text, const std::string& arch = "sm_90a") {
    return compiler_->compile({"k.cu", text, arch, {}});
  }
  // By a worker that has kept nothing.
  CudaBinary compile_anew(const std::string& text, const std::string& arch = "sm_90a") {
    return CudaCompiler(options_).compile({"k.cu", text, arch, {}});
  }
  double seconds_of(const std::string& text) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(compile(text).ok);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  CudaCompileOptions options_;
  std::unique_ptr<CudaCompiler> compiler_;
};

TEST_F(PrecompiledHeadersTest, ChangeNoByteOfTheResult) {
  for (int i = 1; i <= 3; ++i) {
    for (const std::string& text : {reduce(i), groups(i)}) {  // one after the other: each keeps its own
      const CudaBinary kept = compile(text);
      const CudaBinary anew = compile_anew(text);
      ASSERT_TRUE(kept.ok) << kept.log;
      EXPECT_EQ(kept.cubin, anew.cubin) << i;
      EXPECT_EQ(kept.log, anew.log) << i;
      EXPECT_EQ(kept.facts.kernels.at(0).registers, anew.facts.kernels.at(0).registers);
    }
  }
  EXPECT_THAT(compile(reduce(4)).log, HasSubstr("k.cu(6): warning #177-D: variable \"unused\""));
}

TEST_F(PrecompiledHeadersTest, SaveMostOfTheTime) {
  const double first = seconds_of(reduce(1));
  seconds_of(reduce(2));  // makes them
  std::vector<double> later;
  for (int i = 3; i < 8; ++i) later.push_back(seconds_of(reduce(i)));
  std::sort(later.begin(), later.end());
  EXPECT_LT(later[later.size() / 2], first / 2) << "a sixth on a quiet machine";
}

TEST_F(PrecompiledHeadersTest, AreOfOneArchitectureAndItsOptions) {
  for (int i = 1; i <= 3; ++i) compile(groups(i));
  const CudaBinary other = compile(groups(3), "sm_100a");
  EXPECT_EQ(other.cubin, compile_anew(groups(3), "sm_100a").cubin);
  CudaSource checked{"k.cu", groups(3), "sm_90a", {"-DFIRST=1", "--use_fast_math"}};
  EXPECT_EQ(compiler_->compile(checked).cubin, CudaCompiler(options_).compile(checked).cubin);
}

TEST_F(PrecompiledHeadersTest, MakeNoErrorOfTheirOwn) {
  for (int i = 1; i <= 3; ++i) compile(reduce(i));
  const std::string wrong = reduce(3) + "void __device__ f() { undeclared = 3; }\n";
  const CudaBinary kept = compile(wrong);
  EXPECT_FALSE(kept.ok);
  EXPECT_EQ(kept.log, compile_anew(wrong).log);
  EXPECT_THAT(kept.log, HasSubstr("k.cu(10): error: identifier \"undeclared\" is undefined"));
  EXPECT_TRUE(compile(reduce(5)).ok);
}

// A macro that changes what the header says must go on changing it.
TEST_F(PrecompiledHeadersTest, KnowNothingOfWhatACandidateDefinesBeforeThem) {
  const std::string text = std::string("#include <cuda_fp16.h>\n") + kGroups +
                           "extern \"C\" __global__ void run(__half* x) { x[0] = x[1] + x[2]; }\n";
  const std::string without = "#define __CUDA_NO_HALF_OPERATORS__\n" + text;
  for (int i = 0; i < 3; ++i) {
    const std::string number = "// " + std::to_string(i) + "\n";
    EXPECT_TRUE(compile(text + number).ok);
    EXPECT_FALSE(compile(without + number).ok);
  }
}

TEST_F(PrecompiledHeadersTest, LieWhereNobodyElseSeesThem) {
  const auto listing = [] {
    std::set<std::string> paths;
    for (const char* folder : {"/mnt", "/media", "/srv", "/var/tmp"}) {
      std::error_code fault;
      for (const auto& entry : std::filesystem::directory_iterator(folder, fault)) paths.insert(entry.path().string());
    }
    return paths;
  };
  const std::set<std::string> before = listing();
  for (int i = 1; i <= 3; ++i) compile(groups(i));
  EXPECT_EQ(listing(), before);
}

// A candidate must not see what the ones before it had.
TEST_F(PrecompiledHeadersTest, HaveNoNameThatASourceCanGuess) {
  const std::string ask = std::string(kGroups) +
                          "#if __has_include(\"/mnt/0\") || __has_include(\"/media/0\") || __has_include(\"/srv/0\")\n"
                          "#error seen\n#endif\nextern \"C\" __global__ void run(float* x) { x[0] = 1; }\n";
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(compile(ask + "// " + std::to_string(i) + "\n").ok);
}

TEST_F(PrecompiledHeadersTest, OfAFileWithAnOddNameAreReadAnew) {
  const std::string text = std::string(kGroups) +
                           "__device__ const char name[] = __FILE__;\n"
                           "extern \"C\" __global__ void run(char* x) { int unused; x[0] = name[0]; }\n";
  for (const char* name : {"a\\tb.cu", "a\"b.cu", ""}) {
    std::string log;
    for (int i = 0; i < 3; ++i) {
      const CudaBinary binary =
          compiler_->compile({name, text + std::string(static_cast<std::size_t>(i), '\n'), "sm_90a", {}});
      ASSERT_TRUE(binary.ok) << binary.log;
      if (i == 0) log = binary.log;
      EXPECT_EQ(binary.log, log) << name;
    }
  }
}

// Memory that kept headers take is not a candidate's.
TEST_F(PrecompiledHeadersTest, LeaveASourceItsMemory) {
  options_.memory_limit_mb = 700;
  compiler_ = std::make_unique<CudaCompiler>(options_);
  for (const char* list : {kCub, kGroups}) {
    for (int i = 0; i < 3; ++i) {
      const CudaBinary binary = compile(
          std::string(list) + "extern \"C\" __global__ void run(float* x) { x[0] = " + std::to_string(i) + "; }\n");
      EXPECT_TRUE(binary.ok) << list << binary.log;
    }
  }
}

// More lists of headers than are kept, in turn: the files have a bound, the results stay right.
TEST_F(PrecompiledHeadersTest, GoWhenOthersAreUsed) {
  const std::string kernel = "extern \"C\" __global__ void run(float* x) { x[0] = 1; }\n";
  const std::string lists[] = {kGroups, std::string(kGroups) + "#include <cuda_fp16.h>\n",
                               std::string(kGroups) + "#include <mma.h>\n", "#include <cuda/std/type_traits>\n"};
  for (int round = 0; round < 3; ++round) {
    for (const std::string& list : lists) {
      const CudaBinary binary = compile(list + kernel + "// " + std::to_string(round) + "\n");
      EXPECT_TRUE(binary.ok) << list << binary.log;
      EXPECT_THAT(binary.log, Not(HasSubstr("precompiled")));
    }
  }
}

}  // namespace
}  // namespace kc::test
