#include <gtest/gtest.h>

#include <fmt/format.h>

#include "cuda/candidate.h"
#include "tests/cuda/needs_nvrtc.h"

namespace kc {
namespace {

// By name; A100, H100, B200.
SmLimits limits_of(const std::string& arch) {
  Hardware hardware;
  hardware.compute_capability = arch == "sm_80" ? "8.0" : arch == "sm_90a" ? "9.0" : "10.0";
  hardware.multiprocessors = arch == "sm_80" ? 108 : arch == "sm_90a" ? 132 : 148;
  hardware.max_threads_per_multiprocessor = 2048;
  return sm_limits(hardware);
}

using TaskAndArchitecture = std::tuple<const char*, const char*>;
class ShippedKernels : public testing::TestWithParam<TaskAndArchitecture> {};

TEST_P(ShippedKernels, AllCompileExceptThoseThatSayNotAndNoneSpills) {
  KC_NEEDS_NVRTC();
  const auto& [task, arch] = GetParam();
  const TaskPack pack = pack_for_device(load_task_pack(std::filesystem::path(KC_SOURCE_DIR) / "tasks" / task), "cuda");
  const SmLimits limits = limits_of(arch);
  CudaCompiler compiler({});
  const std::vector<Candidate> candidates = list_candidates(pack);
  const std::vector<CompiledCandidate> compiled = compile_candidates(compiler, pack, candidates, limits);
  ASSERT_GE(candidates.size(), 20U);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const bool must = candidates[i].expect != "compile_error";
    EXPECT_EQ(compiled[i].ok, must) << candidates[i].name << ": " << compiled[i].log;
    if (!compiled[i].ok) continue;
    const Facts facts = facts_of(compiled[i], limits);
    EXPECT_GT(facts.at("registers"), 0) << candidates[i].name;
    EXPECT_GT(facts.at("occupancy"), 0) << candidates[i].name << " cannot be launched";
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, ShippedKernels,
                         testing::Combine(testing::Values("attention", "histogram", "layer_norm", "matmul", "nbody",
                                                          "reduction", "softmax", "stencil3d", "transpose"),
                                          testing::Values("sm_80", "sm_90a", "sm_100a")),
                         [](const auto& p) {
                           return fmt::format("{}_{}", std::get<0>(p.param), std::get<1>(p.param));
                         });

}  // namespace
}  // namespace kc
