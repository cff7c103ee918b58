#include <gtest/gtest.h>

#include <fmt/format.h>

#include "cuda/admission.h"
#include "tests/cuda/needs_nvrtc.h"

namespace kc {
namespace {

using TaskAndArchitecture = std::tuple<const char*, std::size_t>;
class ShippedKernels : public testing::TestWithParam<TaskAndArchitecture> {};

TEST_P(ShippedKernels, AllCompileExceptThoseThatSayNotAndCanBeLaunched) {
  KC_NEEDS_NVRTC();
  const auto& [task, arch] = GetParam();
  const TaskPack pack = pack_for_device(load_task_pack(std::filesystem::path(KC_SOURCE_DIR) / "tasks" / task), "cuda");
  CudaCompiler compiler({});
  const std::vector<CudaVariant> variants = compile_variants(compiler, pack, admission_limits().at(arch));
  ASSERT_GE(variants.size(), 20U);
  for (const TaskFinding& f : find_faults(variants)) {
    ADD_FAILURE() << f.candidate << ": expected " << f.expected << ", " << f.got << ": " << f.log;
  }
  for (const CudaVariant& variant : variants) {
    const bool is_kernel = variant.compiles && variant.candidate.find(".cu") != std::string::npos;
    EXPECT_TRUE(!is_kernel || variant.facts.at("registers") > 0) << variant.candidate;
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, ShippedKernels,
                         testing::Combine(testing::Values("attention", "histogram", "layer_norm", "matmul", "nbody",
                                                          "reduction", "softmax", "stencil3d", "transpose"),
                                          testing::Values(0, 1, 2)),
                         [](const auto& p) {
                           return fmt::format("{}_{}", std::get<0>(p.param),
                                              admission_limits().at(std::get<1>(p.param)).arch());
                         });

}  // namespace
}  // namespace kc
