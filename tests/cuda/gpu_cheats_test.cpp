// What waits for a GPU in gpu_test.cpp at least compiles, or is refused, as it is meant to.
#include "tests/cuda/gpu_cheats.h"

#include <gmock/gmock.h>

#include "cuda/admission.h"
#include "cuda/candidate.h"
#include "tests/cuda/cuda_task.h"
#include "tests/cuda/needs_nvrtc.h"

namespace kc::test {
namespace {

TEST(GpuCheats, AreRefusedByTheCompilerWhereTheyShouldBeAndNowhereElse) {
  KC_NEEDS_NVRTC();
  std::vector<GpuCheat> kernels = gpu_cheats();
  for (const std::string& honest :
       {timer_reading_kernel(), kernel_that_takes(20000), line_by_line_kernel(), many_kernels()}) {
    kernels.push_back({"honest", honest, {MeasurementStatus::ok}});
  }
  const CudaTask task;
  CudaCompiler compiler({});
  for (const SmLimits& limits : admission_limits()) {
    for (const GpuCheat& kernel : kernels) {
      const Candidate candidate{"k.cu", {"cuda", "id", kernel.source, {{"BLOCK", "128"}}}, false, ""};
      const CompiledCandidate compiled = compile_candidate(compiler, task.pack(), candidate, limits);
      const bool is_refused = kernel.verdicts.front() == MeasurementStatus::compile_error;
      EXPECT_EQ(compiled.ok, !is_refused) << kernel.name << " for " << limits.arch() << "\n" << compiled.log;
    }
  }
}

}  // namespace
}  // namespace kc::test
