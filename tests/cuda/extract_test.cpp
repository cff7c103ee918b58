#include "cuda/extract.h"

#include <gmock/gmock.h>

#include "cuda/compiler.h"
#include "cuda/contract.h"
#include "cuda/foreign_launches.h"
#include "tests/cuda/needs_nvrtc.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string reason_of(const std::string& text) {
  const auto device = extract_device_code(text);
  return device ? "extracted" : device.error();
}

constexpr const char* kExtension = R"cu(#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <vector>

#define THREADS 256
constexpr int kUnroll = 4;  // of the loop below
struct Pair { float a; float b; };
__constant__ float scale[2] = {1.0f, 2.0f};

template <typename scalar_t>
__device__ __forceinline__ scalar_t twice(scalar_t x) { return x + x; }

template <typename scalar_t, int BLOCK>
__global__ void __launch_bounds__(BLOCK) affine_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, int64_t n) {
  const int64_t i = blockIdx.x * (int64_t)BLOCK + threadIdx.x;
  if (i < n) y[i] = twice(x[i]) + scale[0];  // a comment with ; and }
}

__global__ void plain(float* y) { y[threadIdx.x] = FLT_MAX; }

static int round_up(int n) { return (n + THREADS - 1) / THREADS; }

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int n = x.numel();
  affine_kernel<float, THREADS><<<round_up(n), THREADS, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  plain<<<dim3(1, 2), 32>>>(y.data_ptr<float>());
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("affine", &affine, "y = 2 x + 1"); }
)cu";

TEST(CudaExtract, RefusesASourceThatEndsInsideACommentOrALiteral) {
  const std::string kernel = "__global__ void k(float* x) { x[0] = 1; }\n";
  for (const char* open : {"/* a comment\n\n", "R\"x(raw\n)\"\n"}) {
    EXPECT_EQ(reason_of(kernel + open), "a comment or a literal begins in line 2 and never ends") << open;
  }
  for (const char* closed : {"/* a comment\n */", "const char* s = R\"x(raw\n)x\";\n", "// don't", "#error don't\n",
                             "#if 0\n#error don't"}) {
    EXPECT_EQ(reason_of(kernel + closed), "extracted") << closed;
  }
}

TEST(CudaExtract, KeepsDeviceCodeAndDropsTheHostsFromAnExtension) {
  const auto device = extract_device_code(kExtension);
  ASSERT_TRUE(device) << device.error();
  EXPECT_THAT(device->kernels, ::testing::UnorderedElementsAre("affine_kernel", "plain"));
  EXPECT_THAT(device->source, AllOf(HasSubstr("#define THREADS 256"), HasSubstr("kUnroll"), HasSubstr("struct Pair"),
                                    HasSubstr("twice"), HasSubstr("scale[2]"), HasSubstr("cuda_fp16.h")));
  EXPECT_THAT(device->source, AllOf(Not(HasSubstr("torch")), Not(HasSubstr("PYBIND11")), Not(HasSubstr("round_up")),
                                    Not(HasSubstr("<vector>")), Not(HasSubstr("<<<"))));
  ASSERT_EQ(device->launches.size(), 2);
  EXPECT_EQ(device->launches[0].kernel, "affine_kernel<float, THREADS>");
  EXPECT_EQ(device->launches[0].grid, "round_up(n)");
  EXPECT_EQ(device->launches[0].block, "256");
  EXPECT_EQ(device->launches[1].grid, "dim3(1, 2)");
  EXPECT_EQ(device->launches[1].shared, "0");
  EXPECT_THAT(device->instances, ElementsAre("affine_kernel<float, THREADS>"));
}

TEST(CudaExtract, WhatItKeepsCompilesWithTheInstancesThatAreLaunched) {
  KC_NEEDS_NVRTC();
  const auto device = extract_device_code(kExtension);
  ASSERT_TRUE(device);
  const CudaBinary binary = CudaCompiler({}).compile({"affine.cu", device->source, "sm_90a", {}, device->instances});
  ASSERT_TRUE(binary.ok) << binary.log;
  EXPECT_EQ(binary.facts.kernels.size(), 2);
}

TEST(CudaExtract, LaunchesNameNoVariablesOfTheHost) {
  const auto device = extract_device_code(R"(__global__ void k(float* x) { *x = 1; }
void host(torch::Tensor t, float* x) {
  const int n = t.numel();
  const int threads = 128;
  const int blocks = (n + threads - 1) / threads;
  dim3 grid((n + 15) / 16, blocks), other;
  int twice = 1;
  if (n > 3) { int twice = 2; }
  k<<<grid, threads, 4 * threads, stream()>>>(x + f(n, 1));
  k<<<twice, 1>>>(x);
}
)");
  ASSERT_TRUE(device) << device.error();
  ASSERT_EQ(device->launches.size(), 2);
  EXPECT_EQ(device->launches[0].grid, "dim3((n + 15) / 16, ((n + 128 - 1) / 128))");
  EXPECT_EQ(device->launches[0].block, "128");
  EXPECT_EQ(device->launches[0].shared, "4 * 128");
  EXPECT_EQ(device->launches[0].arguments, "x + f(n, 1)");
  EXPECT_EQ(device->launches[1].grid, "twice") << "which of two definitions is meant, nobody knows";
}

TEST(CudaExtract, DefinitionsOfThemselvesEnd) {
  const auto device = extract_device_code(
      "__global__ void k(float* x) { *x = 1; }\nint a = b + b; int b = a + a;\nvoid h() { k<<<a, 1>>>(0); }\n");
  ASSERT_TRUE(device);
  EXPECT_LT(device->launches[0].grid.size(), 1000);
}

TEST(CudaExtract, TheDraftOfACandidateIsReadByTheContract) {
  const auto device = extract_device_code(kExtension);
  ASSERT_TRUE(device);
  const auto contract = read_contract(draft_candidate(*device));
  ASSERT_TRUE(contract) << contract.error().message;
  EXPECT_THAT(contract->kernels(), ElementsAre("affine_kernel", "plain"));
  EXPECT_EQ(contract->steps[0].launch->block[0], "256");
  EXPECT_EQ(contract->steps[1].launch->grid[1], "2");
  EXPECT_TRUE(draft_candidate({"int a;", {}, {}, {}}).ends_with("int a;\n")) << "drafts follow each other";
  EXPECT_THAT(draft_candidate(*device), HasSubstr("// was affine_kernel<float, THREADS>(x.data_ptr<float>()"));
}

TEST(CudaExtract, FindsTheStringsOfLoadInline) {
  const std::string module =
      std::string("import torch\nfrom torch.utils.cpp_extension import load_inline\n\nsource = r'''") + kExtension +
      "'''\ncpp = \"torch::Tensor affine(torch::Tensor x);\"\n"
      "module = load_inline(name='m', cpp_sources=cpp, cuda_sources=source)\n"
      "class ModelNew(torch.nn.Module):\n    \"\"\"Says __global__ in words only.\"\"\"\n"
      "    def forward(self, x):\n        return module.affine(x)\n";
  const auto device = extract_device_code(module);
  ASSERT_TRUE(device) << device.error();
  EXPECT_EQ(device->kernels.size(), 2);
  EXPECT_THAT(device->source, Not(HasSubstr("ModelNew")));
}

TEST(CudaExtract, LooksIntoNamespacesAndExternC) {
  const auto device = extract_device_code(
      "#include <torch/extension.h>\nnamespace {\n__global__ void a(float* x) { *x = 1; }\nvoid host() { a<<<1, "
      "1>>>(0); }\n}\n"
      "extern \"C\" {\n__global__ void b(float* x) { *x = 1; }\nint host2() { return 1; }\n}\n");
  ASSERT_TRUE(device) << device.error();
  EXPECT_THAT(device->kernels, ElementsAre("a", "b"));
  EXPECT_THAT(device->source, AllOf(Not(HasSubstr("host()")), Not(HasSubstr("host2"))));
}

TEST(CudaExtract, RefusesWithTheReason) {
  EXPECT_THAT(reason_of("import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, a, b):\n"
                        "        return torch.matmul(a, b)\n"),
              HasSubstr("operations of PyTorch"));
  EXPECT_THAT(reason_of("import triton\n@triton.jit\ndef k(x): pass\n"), HasSubstr("Triton"));
  EXPECT_THAT(reason_of("import torch\nn = 3\ns = f'''__global__ void k(float* x) {{ x[0] = {n}; }}'''\n"),
              HasSubstr("f-string"));
  EXPECT_THAT(reason_of("#include <cute/tensor.hpp>\n__global__ void k(float* x) { *x = 1; }\n"),
              HasSubstr("cute/tensor.hpp"));
  EXPECT_THAT(reason_of("__global__ void k(at::Half* x) { *x = at::Half(1); }\n"), HasSubstr("types of PyTorch"));
  EXPECT_THAT(reason_of("int main() { return 0; }\n"), HasSubstr("no __global__"));
  EXPECT_THAT(reason_of(""), HasSubstr("no __global__"));
}

TEST(CudaExtract, KeepsKernelsBehindMacrosOfManyLinesWhole) {
  for (const std::string& end : {std::string("\n"), std::string("\r\n")}) {
    std::string macro = "#define LOAD(x, i)";
    for (int line = 0; line < 20; ++line) macro += " \\" + end + "  (x)[i] += 1;  // {";
    const auto device =
        extract_device_code("#include <torch/extension.h>\n" + macro + end +
                            "__global__ void first(float* x) { LOAD(x, 0) }\nvoid host() { first<<<1, 32>>>(0); }\n"
                            "__global__ void second(float* x) { x[1] = 2; }\n");
    ASSERT_TRUE(device) << device.error();
    EXPECT_THAT(device->kernels, ElementsAre("first", "second"));
    EXPECT_THAT(device->source,
                AllOf(HasSubstr(macro + end), HasSubstr("__global__ void first(float* x) { LOAD(x, 0) }"),
                      HasSubstr("__global__ void second(float* x) { x[1] = 2; }"), Not(HasSubstr("host")),
                      Not(HasSubstr("torch"))));
  }
}

TEST(CudaExtract, SurvivesTextsThatDoNotClose) {
  for (const char* text :
       {"__global__ void k(", "import x\ns = '''__global__ {", "namespace { __device__ int f() {", "#include", "\"",
        "/*", "}}}}", "k<<<", "__global__ void k(int* x) { k<<<1,2>>>", "import \\"}) {
    extract_device_code(text);
  }
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

constexpr const char* kSmall = "__global__ void k(float* x) { x[0] = 1; }\nvoid f() { k<<<1, 1>>>(x); }\n";

TEST(CudaExtract, ReadsLongCommentsAndBlankLines) {
  for (const std::string& text : {"/*\n" + repeated("old code, commented out\n", 10000) + "*/\n" + kSmall,
                                  repeated("\n", 200000) + kSmall + repeated(" \n", 100000),
                                  std::string("namespace a ") + repeated("\n", 200000) + "{\n" + kSmall + "}\n",
                                  std::string("__global__") + repeated("// why\n", 50000) + kSmall +
                                      "int n =" + repeated("\n", 100000) + "1;\n"}) {
    const auto device = extract_device_code(text);
    ASSERT_TRUE(device) << device.error();
    ASSERT_EQ(device->launches.size(), 1);
    EXPECT_EQ(device->launches[0].arguments, "x");
  }
}

TEST(CudaExtract, LongExpressionsNamesAndArgumentsNeitherCrashNorTakeForever) {
  const std::string names = repeated("long_name_", 700);
  for (const std::string& text :
       {"int n = " + repeated("1 +\n", 60000) + "1;\n",
        "int n = f(" + repeated("1,\n", 60000) + "1);\n",
        "dim3 g(" + repeated("1,\n", 60000),
        repeated("dim3 g(\n", 50000),
        repeated("k<<<\n", 60000),
        repeated("k<<<1,1>>>(\n", 30000),
        repeated("k<<<1,1>>>\n", 30000),
        repeated(names + "\n", 60),
        repeated("int a = 1;\n", 40000),
        repeated("template <class A,\n", 20000) + "int x> struct B;\n",
        repeated("__global__\n", 40000),
        "import torch\ns = '" + repeated("a' 'b", 1000) + "'\n",
        "import torch\ns = '__global__ {' " + repeated("'aaaaaaaaa'\n", 40000),
        "import torch\n" + repeated("a='__global__{'\n", 25000),
        "import torch\na='__global__{'\n" + repeated("a.a(\n", 70000),
        "import torch\na='__global__{'\n" + repeated("b=a\n", 90000),
        "import torch\na='__global__{'\n" + repeated("b.write(a)\n", 40000),
        "import torch\nf" + repeated("\n", 100000) + "(" + repeated("'__global__{',file=a,\n", 18000),
        "import torch\na='__global__{'\nprint" + repeated("\n", 100000) + "(" + repeated("f'{a}',\n", 40000),
        "import torch\na='__global__{'\n" + repeated("b.write([[[[[[[[[a,\n", 25000),
        "import torch\na='__global__{'\n" + repeated("f'''{ " + repeated("a.", 3000) + "'''\n", 80),
        "import torch\n" + repeated("a(\n", 100000) + "'__global__{'",
        "import torch\na='__global__{'\n" + repeated(repeated("a.a ", 1000) + "\n", 100),
        "import torch\nf" + repeated("\n", 100000) + "[" + repeated("'__global__{',\n", 25000)}) {
    extract_device_code(text + kSmall);
    extract_device_code(kSmall + text);
  }
}

TEST(CudaExtract, LaunchesAreFoundBetweenLinesOfMegabytes) {
  const std::string word(4 << 20, 'a');
  const std::string launch = "\nint n = 3;\ndim3 b(4);\nk<<<n, b>>>(x);\n";
  for (const std::string& line : {word, "int " + word, "int n" + std::string(4 << 20, ' ') + "= 3", "int m = " + word,
                                  "dim3 a(" + word, "#define A " + word, "k<" + word + "><<<", "k<<<" + word}) {
    SCOPED_TRACE(line.substr(0, 10));
    const auto launches = launches_in(line + launch + line);
    ASSERT_EQ(launches.size(), 1);
    EXPECT_EQ(launches[0].block, "dim3(4)");
  }
}

TEST(CudaExtract, DefinitionsOfDefinitionsStopGrowingAtOnce) {
  std::string text;
  for (char name = 'a'; name < 'i'; ++name) {
    text +=
        std::string("int ") + name + " = " + repeated(std::string(1, static_cast<char>(name + 1)) + "+", 100) + "1;\n";
  }
  const auto device = extract_device_code(text + "__global__ void k(float* x) {}\nvoid f() { k<<<a, 1>>>(x); }\n");
  ASSERT_TRUE(device);
  EXPECT_EQ(device->launches.at(0).grid, "a");
}

TEST(CudaExtract, RefusesWhatIsTooLargeOrTooDeep) {
  EXPECT_THAT(reason_of(kSmall + ("int x" + repeated(" ", 9000)) + ";\n"), HasSubstr("line 3 has 9006 characters"));
  EXPECT_THAT(reason_of(kSmall + repeated("int x;\n", 100000)), HasSubstr("bytes"));
  EXPECT_THAT(reason_of(kSmall + ("import " + std::string(4 << 20, 'a')) + "\n"), HasSubstr("bytes"));
  EXPECT_THAT(reason_of(repeated("namespace a {\n", 20000) + kSmall + repeated("}\n", 20000)), HasSubstr("deep"));
}

TEST(CudaExtract, DropsAHeaderOfTheHostBelowAComment) {
  const auto device = extract_device_code(std::string("/* Licence. */\n#include <torch/extension.h>\n") + kSmall);
  ASSERT_TRUE(device) << device.error();
  EXPECT_THAT(device->source, Not(HasSubstr("torch")));
}

}  // namespace
}  // namespace kc::test
