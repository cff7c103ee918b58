#include "cuda/baseline.h"

#include <gmock/gmock.h>

#include "cuda/candidate.h"
#include "cuda/host_contract.h"
#include "measure/host_environment.h"
#include "tests/cuda/cuda_task.h"
#include "tests/cuda/fake_gpu.h"
#include "tests/cuda/needs_nvrtc.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TaskPack matmul() {
  TaskPack pack = pack_for_device(load_task_pack(std::filesystem::path(KC_SOURCE_DIR) / "tasks/matmul"), "cuda");
  pack.cases = {{"tiny", {{"M", 17}, {"N", 33}, {"K", 21}}}};
  return pack;
}

TEST(CudaBaseline, IsACandidateOfItsOwnNameThatIsTimedAndChecked) {
  KC_NEEDS_NVRTC();
  const TaskPack pack = matmul();
  const std::vector<Candidate> baselines = baseline_candidates(pack);
  ASSERT_EQ(baselines.size(), 1);
  EXPECT_EQ(baselines[0].name, "cublas");
  FakeWorld world;
  // The seed's kernel, whatever its launches are called, is the same product.
  const auto product = [](FakeLaunch& launch) {
    const std::int64_t m = launch.sizes[0], n = launch.sizes[1], k = launch.sizes[2];
    const auto* a = reinterpret_cast<const float*>(launch.buffers[0]);
    const auto* b = reinterpret_cast<const float*>(launch.buffers[1]);
    auto* c = reinterpret_cast<float*>(launch.buffers[2]);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += double{a[i * k + l]} * b[l * n + j];
        c[i * n + j] = static_cast<float>(sum);
      }
    }
    launch.ns = 20000;
  };
  for (const std::string& kernel : read_contract(pack.seed.source)->kernels()) world.kernels[kernel] = product;
  CudaOptions options;
  options.host = quick_options();
  options.max_rounds = 8;
  const MeasureRequest request{&pack, baselines[0]};
  const auto result =
      make_cuda_measurer(options, 7, fake_backend(world))->measure(std::span(&request, 1), {}, {}).at(0);
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  EXPECT_NEAR(log2_speedup_scalar(result), 1, 0.2) << "20 us against 10 us and the call";
}

TEST(CudaBaseline, ItsDirectiveIsNotForCandidates) {
  const auto contract = read_contract("#pragma kernelcast library cublas sgemm(m: 1)\n");
  ASSERT_FALSE(contract);
  EXPECT_THAT(contract.error().message, HasSubstr("a candidate brings its own kernel"));
}

TEST(CudaBaseline, RefusesArgumentsThatDoNotFit) {
  const TaskPack pack = matmul();
  const auto refusal = [&](const std::string& name, const std::string& value) {
    CudaBaseline baseline = pack.cuda->baselines.at(0);
    if (value.empty()) {
      baseline.arguments.erase(name);
    } else {
      baseline.arguments[name] = value;
    }
    const auto call = plan_library(baseline, pack, pack.cases[0]);
    return call ? "accepted" : call.error().message;
  };
  EXPECT_EQ(refusal("m", "N"), "accepted");
  EXPECT_THAT(refusal("m", ""), HasSubstr("'m' is missing"));
  EXPECT_THAT(refusal("k", "Q"), HasSubstr("Q"));
  EXPECT_THAT(refusal("a", "D"), HasSubstr("'a' names no tensor"));
  EXPECT_THAT(refusal("c", "A"), HasSubstr("is an input"));
  EXPECT_THAT(refusal("alpha", "1"), HasSubstr("unknown argument"));
}

constexpr const char* kWrapper = R"(#pragma kernelcast scratch s f32(4)
__global__ void fill(float* y) { *y = 1; }
#pragma kernelcast host
int run(const KernelcastHost* host, const Case* c, const void* const* inputs, void* const* outputs, void* const*) {
  alignas(64) unsigned char map[128];
  const unsigned long long sizes[1] = {(unsigned long long)c->N}, strides[1] = {4};
  const unsigned box[1] = {BLOCK}, steps[1] = {1};
  if (int fault = host->tensor_map(host, map, 7, 1, (void*)inputs[0], sizes, strides, box, steps, 0, 0, 0, 0)) return fault;
  const unsigned one[3] = {1, 1, 1};
  void* parameters[] = {map, (void*)&outputs[0]};
  return host->launch(host, "fill", one, one, one, 0, parameters);
}
)";

class HostContract : public ::testing::Test {
 protected:
  CompileResult compile(const std::string& source) {
    const auto contract = read_contract(source);
    EXPECT_TRUE(contract) << contract.error().message;
    const CompileEnvironment environment = make_compile_environment(quick_options(), folder_);
    return compile_all(environment,
                       {host_job(task_.pack(), *contract, {{"BLOCK", "64"}}, "w.cu", folder_.path() / "w")}, {})
        .at(0);
  }
  CudaTask task_;
  TemporaryFolder folder_;
};

TEST_F(HostContract, SplitsDeviceCodeFromTheWrapperAndCompilesIt) {
  const auto contract = read_contract(kWrapper);
  ASSERT_TRUE(contract);
  EXPECT_EQ(contract->host_line, 3);
  EXPECT_THAT(contract->device_source, AllOf(HasSubstr("fill"), ::testing::Not(HasSubstr("KernelcastHost"))));
  const CompileResult result = compile(kWrapper);
  EXPECT_TRUE(result.ok) << result.log;
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "w" / "kernel.so"));
}

TEST_F(HostContract, NamesTheWrappersLineInErrors) {
  const CompileResult result = compile(std::string(kWrapper) + "int broken() { return undeclared; }\n");
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.log, HasSubstr("w.cu:13:"));
}

TEST_F(HostContract, CannotCallTheDriverByItself) {
  const CompileResult result =
      compile(std::string(kWrapper) + "extern \"C\" int cuInit(unsigned);\nint f() { return cuInit(0); }\n");
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.log, HasSubstr("cuInit"));
}

TEST_F(HostContract, DirectivesBelongToTheDevicePart) {
  const auto contract = read_contract(std::string(kWrapper) + "#pragma kernelcast launch fill grid(1) block(1)\n");
  ASSERT_FALSE(contract);
  EXPECT_THAT(contract.error().text("w.cu"), HasSubstr("w.cu(13): refused: a directive after `host`"));
}

}  // namespace
}  // namespace kc::test
