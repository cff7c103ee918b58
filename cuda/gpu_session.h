#pragma once
// One task on one draw of secret inputs: the reference on the CPU, the seed on the GPU, candidates one after another.
#include <memory>
#include <stop_token>
#include <vector>

#include "base/error.h"
#include "cuda/candidate.h"
#include "cuda/cuda_device.h"
#include "cuda/gpu_side.h"
#include "cuda/gpu_timing.h"
#include "measure/compile.h"
#include "measure/input_pool.h"
#include "measure/machine.h"

namespace kc {

// What does not change between the sessions of a task.
struct GpuTask {
  const TaskPack* pack = nullptr;
  std::filesystem::path reference_folder;
  CompiledCandidate seed;
};

class GpuSession {
 public:
  // Starts the reference and the seed and checks the seed. Error{bad_data} names the task when they fail.
  GpuSession(const CudaOptions& options, const CompileEnvironment& environment, const GpuTask& task,
             const std::string& instruments, CudaBackend& backend, RngStream rng, std::stop_token stop);

  // Status, log, timings and the facts of timing. Error{bad_data} when the seed fails meanwhile, Error{environment}
  // when a stopped candidate does not leave the device.
  Measurement measure(const CompiledCandidate& candidate);

  // |log2 ratio| of the seed against itself in another process.
  double measure_noise();

 private:
  std::unique_ptr<GpuSide> start(const CompiledCandidate& candidate);
  std::optional<RunnerFailure> check_case(GpuSide& side, std::size_t index, double& estimate_ns);
  std::optional<RunnerFailure> time_cases(GpuSide& side, Measurement& result);
  void require_idle();
  Error seed_error(const RunnerFailure& failure) const;

  const CudaOptions& options_;
  const GpuTask& task_;
  const std::string& instruments_;
  CudaBackend& backend_;
  RngStream rng_;
  std::stop_token stop_;
  SetBudget budget_;
  Runner reference_;
  std::vector<std::unique_ptr<InputPool>> pools_;
  std::unique_ptr<GpuSide> seed_;
};

}  // namespace kc
