#pragma once
// One timing session: the candidates of one task that are measured on one secret draw of inputs.
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "measure/compile.h"
#include "measure/input_pool.h"
#include "measure/machine.h"
#include "measure/pair_timing.h"

namespace kc {

// A task with its compiled reference and seed; the folders hold kernel.so.
struct HostTask {
  const TaskPack* pack = nullptr;
  std::filesystem::path reference_folder;
  std::filesystem::path seed_folder;
};

// Compiles both below `folder`. Error{bad_data} names the task when one does not compile.
HostTask prepare_task(const CompileEnvironment& environment, const TaskPack& pack, const std::filesystem::path& folder,
                      const std::stop_token& stop);

class Session {
 public:
  // Starts the reference and the seed and checks the seed. Error{bad_data} names the task when they fail.
  Session(const CompileEnvironment& environment, const HostTask& task, const CorePair& cores, RngStream rng);

  // Status, log and timings of the library in `folder`. Error{bad_data} when the seed fails meanwhile.
  Measurement measure(const std::filesystem::path& folder);

  // |log2 ratio| of the seed against another process with the same library.
  double measure_noise();

  std::vector<std::unique_ptr<InputPool>>& pools() { return pools_; }
  PoolBudget& budget() { return budget_; }

 private:
  Runner start(const std::filesystem::path& folder) const;
  // Checks every case; fills the estimates (nanoseconds per launch and case).
  std::optional<RunnerFailure> check_correctness(Runner& runner, std::vector<double>& estimates);
  std::optional<RunnerFailure> time_cases(Runner& runner, const std::vector<double>& estimates, Measurement& result);
  Error seed_error(const RunnerFailure& failure) const;

  const CompileEnvironment& environment_;
  HostTask task_;
  CorePair cores_;
  RngStream rng_;
  PoolBudget budget_;
  Runner reference_;
  Runner seed_;
  std::vector<double> seed_estimates_;
  std::vector<std::unique_ptr<InputPool>> pools_;
};

}  // namespace kc
