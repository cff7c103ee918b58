#include "cuda/source_check.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "cuda/compiler.h"
#include "tests/cuda/needs_nvrtc.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kHonest = R"(extern "C" __global__ void run(const float* x, float* y) {
  __shared__ float s[64];
  s[threadIdx.x & 63] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[(threadIdx.x + 1) & 63];
}
)";

CudaSource source_of(const std::string& text) { return {"k.cu", text, "sm_90a", {}}; }

std::string binary_refusal(CudaCompiler& compiler, const std::string& text) {
  const auto contract = read_contract("#pragma kernelcast launch run grid(1) block(1)\n" + text);
  const CudaBinary binary = compiler.compile(source_of(contract->device_source));
  if (!binary.ok) return binary.log;
  const auto refusal = check_binary(*contract, binary.facts);
  return refusal ? refusal->message : "accepted";
}

TEST(CudaBinaryCheck, RefusesWhatKeepsResultsOrCallsTheDriver) {
  KC_NEEDS_NVRTC();
  CudaCompiler compiler({});
  EXPECT_EQ(binary_refusal(compiler, kHonest), "accepted");
  EXPECT_THAT(
      binary_refusal(compiler, "__device__ int calls;\nextern \"C\" __global__ void run(int* y) { *y = ++calls; }\n"),
      HasSubstr("'calls' keeps its value between launches"));
  EXPECT_THAT(binary_refusal(compiler, "__global__ void run(int* y) { *y = 1; }\n"), HasSubstr("no kernel 'run'"));
  EXPECT_THAT(binary_refusal(compiler,
                             "extern \"C\" int printf(const char*, ...);\n"
                             "extern \"C\" __global__ void run(int* y) { *y = 1; printf(\"%d\", *y); }\n"),
              HasSubstr("vprintf"));
  EXPECT_THAT(binary_refusal(compiler, "extern \"C\" __global__ void run(int** y) { *y = new int[4]; }\n"),
              HasSubstr("malloc"));
  EXPECT_THAT(
      binary_refusal(compiler, "__global__ void f() {}\nextern \"C\" __global__ void run() { f<<<1, 1>>>(); }\n"),
      HasSubstr("error"));
}

TEST(CudaSourceCheck, RefusesHostCodeAndForeignFilesInWords) {
  const auto refusal = [](const std::string& text) {
    const auto found = check_source(text);
    return found ? found->text("k.cu") : "accepted";
  };
  EXPECT_THAT(refusal("\n#include \"/etc/passwd\"\n"), HasSubstr("k.cu(2): refused: #include of '/etc/passwd'"));
  EXPECT_THAT(refusal("# /* x */ include <../secret.h>\n"), HasSubstr("../secret.h"));
  EXPECT_THAT(refusal("#inc\\\nlude \"/etc/passwd\"\n"), HasSubstr("/etc/passwd"));
  EXPECT_THAT(refusal("%:include \"/etc/passwd\"\n"), HasSubstr("/etc/passwd"));
  EXPECT_THAT(refusal("#define F <mma.h>\n#include F\n"), HasSubstr("k.cu(2): refused: an #include whose file"));
  EXPECT_THAT(refusal("#include <torch/extension.h>\n"), HasSubstr("torch/extension.h"));
  EXPECT_THAT(refusal("int main() { return 0; }\n"), HasSubstr("host code"));
  EXPECT_THAT(refusal("void f() { run<<<1, 2>>>(); }\n"), HasSubstr("<<< >>>"));
  EXPECT_THAT(refusal("void f() { cudaMalloc(&p, 4); }\n"), HasSubstr("CUDA runtime"));
  EXPECT_THAT(refusal("__device__ void f() { printf(\"x\"); }\n"), HasSubstr("device printf"));
  EXPECT_THAT(refusal("torch::Tensor f();\n"), HasSubstr("PyTorch"));
}

// A candidate's text has no bound, and neither has a line of it.
TEST(CudaSourceCheck, ReadsLinesOfMegabytes) {
  constexpr std::size_t kBytes = 4 << 20;
  const auto filled = [](const std::string& with) {
    std::string text;
    while (text.size() < kBytes) text += with;
    return text;
  };
  for (const auto& [before, with] : std::vector<std::pair<std::string, std::string>>{{"", "a"},
                                                                                     {"#include ", " "},
                                                                                     {"#include <", "a b "},
                                                                                     {"int", " "},
                                                                                     {"", "int main "},
                                                                                     {"", "cudaMalloc"},
                                                                                     {"torch", "\\\n"},
                                                                                     {"#", "/**/"}}) {
    const std::clock_t began = std::clock();
    check_source(before + filled(with) + "x");
    EXPECT_LT(std::clock() - began, CLOCKS_PER_SEC) << before << with;
  }
  const auto refusal = check_source("\n" + filled(" a") + "; cudaMalloc" + filled("x") + filled(" ") + "(1)");
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->line, 2);
  EXPECT_THAT(refusal->message, HasSubstr("CUDA runtime"));
}

TEST(CudaSourceCheck, AcceptsHonestTextsThatOnlyMentionSuchThings) {
  for (const char* text :
       {"// int main() and printf() and <<<1, 2>>>\n#include <cuda_fp16.h>\n", "/* cudaMalloc(1) */ int x;\n",
        "__device__ const char* s = \"torch::Tensor\";\n", "int remain(int a);\n#include \"mma.h\"  // <../x>\n",
        "constexpr long long n = 1'000'000; // int main()\n", "__device__ int sprintf_like(int x);\n"}) {
    const auto refusal = check_source(text);
    EXPECT_FALSE(refusal) << text << refusal->message;
  }
}

TEST(CudaSourceCheck, KeepsTheCountOfLines) {
  const std::string text = "a\\\nb // c\\\nd\n\"e\" /* f\n g */ h\n";
  const std::string code = code_only(text);
  EXPECT_EQ(std::count(code.begin(), code.end(), '\n'), std::count(text.begin(), text.end(), '\n'));
  EXPECT_THAT(code, AllOf(HasSubstr("ab"), HasSubstr("h"), Not(HasSubstr("d")), Not(HasSubstr("f"))));
}

TEST(CubinReader, SurvivesDamagedFiles) {
  KC_NEEDS_NVRTC();
  const std::string cubin = CudaCompiler({}).compile(source_of(kHonest)).cubin;
  EXPECT_FALSE(read_cubin("", "").ok);
  EXPECT_FALSE(read_cubin("\x7f"
                          "ELF and nothing else",
                          "")
                   .ok);
  for (std::size_t length = 0; length < cubin.size(); length += 13) read_cubin(cubin.substr(0, length), "");
  for (std::size_t at = 0; at < cubin.size(); at += 7) {
    std::string damaged = cubin;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    read_cubin(damaged, "");
  }
}

}  // namespace
}  // namespace kc::test
