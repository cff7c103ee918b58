#pragma once
// One timing session: the candidates of one task that are measured on one secret draw of inputs.
#include <filesystem>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/error.h"
#include "measure/compile.h"
#include "measure/input_pool.h"
#include "measure/label_timing.h"
#include "measure/machine.h"
#include "measure/quiet_watch.h"

namespace kc {

// A task with its compiled reference and seed; the folders hold kernel.so.
struct HostTask {
  const TaskPack* pack = nullptr;
  std::filesystem::path reference_folder;
  std::filesystem::path seed_folder;
  // What the task's sessions learned about the spread between processes; shared by copies.
  std::shared_ptr<ProcessNoise> noise = std::make_shared<ProcessNoise>();
  // What the device's sessions know of their core.
  std::shared_ptr<QuietWatch> watch = std::make_shared<QuietWatch>();
};

// Compiles both below `folder`. Error{bad_data} names the task when one does not compile.
HostTask prepare_task(const CompileEnvironment& environment, const TaskPack& pack, const std::filesystem::path& folder,
                      const std::stop_token& stop);

// The measurement with the failure's status and log, and without times.
Measurement failed(Measurement result, const RunnerFailure& failure);

class Session {
 public:
  // Starts the reference and the seed and checks the seed. Error{bad_data} names the task when they fail. Here and
  // below Error{interrupted} at the end of the turn in which `stop` was requested; the session is not to be used after
  // that.
  Session(const CompileEnvironment& environment, const HostTask& task, const CorePair& cores, RngStream rng,
          const std::stop_token& stop);

  // Whether its reference and all of its seeds still run: somebody else may have ended or stopped them since the last
  // call. A few microseconds.
  bool is_alive();

  // Status, log, timings and facts (processes, log2_low, log2_high, deterministic) of the library in `folder`, by
  // processes of its own. Error{bad_data} when the seed fails meanwhile.
  Measurement measure(const std::filesystem::path& folder, const std::stop_token& stop);

  // |log2 ratio| of the seed against other processes with the same library.
  double measure_noise(const std::stop_token& stop);

  // The seed's largest error on the first input set of a case, as a share of what the tolerance allows.
  double seed_share_of_tolerance(std::size_t input_case, const std::stop_token& stop);

  std::vector<std::unique_ptr<InputPool>>& pools() { return pools_; }

 private:
  class Bench;

  Runner start(const std::filesystem::path& folder) const;
  struct Checked {
    std::vector<double> estimates;  // nanoseconds per launch, by case
    bool deterministic = true;      // the same bytes twice, whatever lay in the outputs before
    double tolerance_share = 0;     // the largest error as a share of what is allowed there
  };
  Expected<Checked, RunnerFailure> check_correctness(Runner& runner, const std::stop_token& stop);
  std::optional<RunnerFailure> time_cases(Runner runner, const std::filesystem::path& folder, const Checked& checked,
                                          const std::stop_token& stop, Measurement& result);
  // Seed process `index` of the session, started and checked when it is first asked for.
  Runner& seed(std::size_t index, const std::stop_token& stop);
  Error seed_error(const RunnerFailure& failure) const;

  const CompileEnvironment& environment_;
  HostTask task_;
  CorePair cores_;
  RngStream rng_;
  std::unique_ptr<CoreHold> hold_;
  Runner reference_;
  std::vector<double> seed_estimates_;
  std::vector<std::unique_ptr<InputPool>> pools_;
  std::vector<Runner> seeds_;
  std::size_t labels_ = 0;
};

}  // namespace kc
