#include "cuda/emulation.h"

#include <gtest/gtest.h>

#include "cuda/admission.h"
#include "tests/cuda/cuda_task.h"

namespace kc {
namespace {

std::string findings_text(const std::vector<TaskFinding>& findings) {
  std::string text;
  for (const TaskFinding& f : findings) {
    text += f.candidate + ": expected " + f.expected + ", got " + f.got + ": " + f.log.substr(0, 300) + "\n";
  }
  return text;
}

std::string emulate_and_check(const TaskPack& pack, std::int64_t most_per_source) {
  return findings_text(check_emulated(pack, {}, most_per_source).findings);
}

// The affine task y = 2 x + 1 with one more candidate and the status it must get.
std::string with_candidate(const std::string& source, const std::string& expect) {
  test::TaskFiles files;
  files.write("affine.cu", test::kCudaSource);
  files.write("other.cu", source);
  files.write("task.yaml",
              std::string(test::kTaskYaml) + test::kCudaYaml + "    - {source: other.cu, expect: " + expect + "}\n");
  return emulate_and_check(load_task_pack(files.path()), 1);
}

// Each thread writes what its neighbour in the next warp put into shared memory.
std::string neighbours(const std::string& barrier) {
  return R"(#pragma kernelcast launch run grid(ceil_div(N, 64)) block(64)
__global__ void run(Case c, const float* x, float* y) {
  __shared__ float kept[64];
  const long long first = blockIdx.x * 64LL;
  const int other = (threadIdx.x + 32) % 64;
  if (first + threadIdx.x < c.N) kept[threadIdx.x] = 2.0f * x[first + threadIdx.x] + 1.0f;
  )" + barrier +
         R"(
  if (first + other < c.N) y[first + other] = kept[other];
}
)";
}

TEST(Emulation, RunsEveryThreadOfEveryBlock) { EXPECT_EQ(with_candidate(neighbours("__syncthreads();"), "ok"), ""); }

TEST(Emulation, ShowsAMissingBarrier) { EXPECT_EQ(with_candidate(neighbours(""), "incorrect"), ""); }

TEST(Emulation, EndsAtABarrierThatAPartOfTheBlockNeverReaches) {
  EXPECT_EQ(
      with_candidate(neighbours("if (threadIdx.x < 32) __syncthreads(); else __syncwarp(1u << 31);"), "runtime_error"),
      "");
}

TEST(Emulation, ExchangesValuesInsideAWarp) {
  const std::string source = R"(#pragma kernelcast launch run grid(ceil_div(N, 32)) block(32)
__global__ void run(Case c, const float* x, float* y) {
  const long long i = blockIdx.x * 32LL + threadIdx.x;
  float value = i < c.N ? 2.0f * x[i] + 1.0f : 0.0f;
  value = __shfl_xor_sync(0xFFFFFFFFu, value, 5);
  value = __shfl_sync(0xFFFFFFFFu, value, threadIdx.x ^ 5);
  const float down = __shfl_down_sync(0xFFFFFFFFu, value, 1), up = __shfl_up_sync(0xFFFFFFFFu, down, 1);
  const bool all = __ballot_sync(0xFFFFFFFFu, threadIdx.x < 7) == 127u;
  if (i < c.N && all) y[i] = threadIdx.x == 0 ? value : up;
}
)";
  EXPECT_EQ(with_candidate(source, "ok"), "");
}

TEST(Emulation, SharedMemoryHoldsNothingUsefulBeforeItIsWritten) {
  const std::string source = R"(#pragma kernelcast launch run grid(ceil_div(N, 64)) block(64) shared(256)
__global__ void run(Case c, const float* x, float* y) {
  extern __shared__ float kept[];
  const long long i = blockIdx.x * 64LL + threadIdx.x;
  if (i < c.N) y[i] = 2.0f * x[i] + 1.0f + 0.0f * kept[threadIdx.x];
}
)";
  EXPECT_EQ(with_candidate(source, "incorrect"), "");
}

// Each would overflow the stack of a pattern that recurses, or keep one busy that tries its repetitions again.
TEST(Emulation, ReadsLinesOfMegabytes) {
  std::string words;
  while (words.size() < (4 << 20)) words += "a ";
  for (const std::string& line :
       {std::string(words.size(), 'a'), std::string(words.size(), ' '), words, std::string(words.size(), '\n')}) {
    SCOPED_TRACE(line.substr(0, 4));
    test::TaskFiles files;
    files.write("affine.cu", test::kCudaSource);
    files.write("other.cu", "/* extern __shared__ " + line + " */\n" + test::kCudaSource +
                                "__global__ void f() {\n  extern __shared__ unsigned int a[];\n  extern __shared__ " +
                                line + "float b[];\n}\n");
    files.write("task.yaml",
                std::string(test::kTaskYaml) + test::kCudaYaml + "    - {source: other.cu, tunables: {BLOCK: [64]}}\n");
    const EmulatedPack emulated = emulated_pack(load_task_pack(files.path()), 1);
    ASSERT_EQ(emulated.pack.sources.size(), 1U);
    const std::string& text = emulated.pack.sources[0].text;
    EXPECT_NE(text.find("unsigned int* const a = reinterpret_cast<unsigned int*>(kc_emulation"), std::string::npos);
  }
}

TEST(Emulation, GuardsTheOutputs) {
  const std::string source = R"(#pragma kernelcast launch run grid(ceil_div(N, 64)) block(64)
__global__ void run(Case c, const float* x, float* y) {
  const long long i = blockIdx.x * 64LL + threadIdx.x;
  y[i] = i < c.N ? 2.0f * x[i] + 1.0f : 0.0f;
}
)";
  EXPECT_EQ(with_candidate(source, "runtime_error"), "");
}

TEST(Emulation, LeavesOutWhatItCannotRunAndSaysSo) {
  test::TaskFiles files;
  files.write("affine.cu", test::kCudaSource);
  files.write("other.cu", std::string("#include <mma.h>\n") + test::kCudaSource);
  files.write("task.yaml", std::string(test::kTaskYaml) + test::kCudaYaml + "    - {source: other.cu}\n");
  const EmulatedPack emulated = emulated_pack(load_task_pack(files.path()), 0);
  ASSERT_EQ(emulated.left_out.size(), 1U);
  EXPECT_NE(emulated.left_out[0].find("other.cu: includes headers"), std::string::npos);
}

// The shipped CUDA kernels against the same reference as the host's, some instances of every template.
class ShippedKernels : public testing::TestWithParam<const char*> {};

TEST_P(ShippedKernels, AreWhatTheirPackSaysOnTheCpu) {
  const TaskPack pack = load_task_pack(std::filesystem::path(KC_SOURCE_DIR) / "tasks" / GetParam());
  EXPECT_EQ(emulate_and_check(pack, kEmulatedPerSource), "");
}

INSTANTIATE_TEST_SUITE_P(Tasks, ShippedKernels,
                         testing::Values("attention", "histogram", "layer_norm", "matmul", "nbody", "reduction",
                                         "softmax", "stencil3d", "transpose"),
                         [](const auto& task) { return std::string(task.param); });

}  // namespace
}  // namespace kc
