#pragma once
// One task on one draw of secret inputs: the reference on the CPU, seeds on the GPU, candidates one after another.
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "base/error.h"
#include "cuda/candidate.h"
#include "cuda/cuda_device.h"
#include "cuda/gpu_side.h"
#include "measure/compile.h"
#include "measure/input_pool.h"
#include "measure/label_timing.h"
#include "measure/machine.h"

namespace kc {

// What does not change between the sessions of a task.
struct GpuTask {
  const TaskPack* pack = nullptr;
  std::filesystem::path reference_folder;
  CompiledCandidate seed;
  ProcessNoise noise = {};          // what the task's sessions learned about the spread between processes
  ProcessNoise harness_noise = {};  // the same of labels that the harness's clock timed
};

class GpuSession {
 public:
  // Starts the reference and the seed and checks the seed. Error{bad_data} names the task when they fail.
  GpuSession(const CudaOptions& options, const CompileEnvironment& environment, GpuTask& task,
             const std::string& instruments, CudaBackend& backend, RngStream rng, std::stop_token stop);

  // Status, log, timings and facts (deterministic, tolerance_share, other_processes, processes, log2_low, log2_high,
  // frequency_mhz, throttled_rounds, unstable; host_code where the harness's clock timed it), in processes of the
  // candidate's own. Error{bad_data} when the seed fails meanwhile, Error{environment} when a stopped candidate does
  // not leave the device.
  Measurement measure(const CompiledCandidate& candidate);

  // Processes of others that used the device when the session began; none where nobody can tell.
  const std::vector<unsigned>& others() const { return others_; }

  // |log2 ratio| of the seed against itself in other processes.
  double measure_noise();

 private:
  class Bench;
  // Input sets of one case.
  struct CaseSets {
    std::unique_ptr<InputPool> pool;
    std::size_t most_launches = 1;  // of a turn, so that the sets stay within the session's memory and time
  };

  bool is_timed_by_harness(const CompiledCandidate& candidate) const {
    return candidate.has_host_code() || task_.seed.has_host_code();
  }
  std::unique_ptr<GpuSide> start(const CompiledCandidate& candidate);
  // Seed process `index` of the session, started and checked when it is first asked for.
  GpuSide& seed(std::size_t index);
  void make_check_sets();
  struct Checked {
    std::vector<double> estimates;  // coarse nanoseconds per launch, by case
    bool deterministic = true;      // the same bytes twice, whatever lay in outputs and scratch before
    double tolerance_share = 0;     // the largest error as a share of what is allowed there
  };
  Expected<Checked, RunnerFailure> check_cases(GpuSide& side);
  std::optional<RunnerFailure> time_cases(std::unique_ptr<GpuSide> side, const CompiledCandidate& candidate,
                                          const Checked& checked, Measurement& result);
  void require_idle();
  // gpu_session_harness.cpp: labels by the harness's clock.
  void know_empty_turns();  // to be called while no candidate's process is there
  double empty_ns(std::size_t input_case, std::size_t launches) const;
  // Times the seed again when the candidate is gone: its host code may have used the device in the seed's turns.
  std::optional<RunnerFailure> check_seed_alone(std::span<const CaseTiming> beside,
                                                const std::vector<std::size_t>& launches);
  double seed_alone_ns(std::size_t input_case, std::size_t launches);
  Error seed_error(const RunnerFailure& failure) const;

  const CudaOptions& options_;
  GpuTask& task_;
  const std::string& instruments_;
  CudaBackend& backend_;
  RngStream rng_;
  std::stop_token stop_;
  std::vector<unsigned> others_;
  Runner reference_;
  std::vector<CaseSets> cases_;
  std::vector<std::unique_ptr<GpuSide>> seeds_;
  std::vector<double> seed_estimates_;
  std::size_t labels_ = 0;
  // Of turns without launches, with the outputs of one or of more; by case.
  struct EmptyTurns {
    double one_ns = 0;
    double further_ns = 0;  // for each
  };
  std::vector<EmptyTurns> empty_turns_;
};

}  // namespace kc
