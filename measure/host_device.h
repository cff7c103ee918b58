#pragma once
// The CPU itself as the device (docs/measurement.md).
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/config.h"
#include "measure/measurer.h"

namespace kc {

struct HostOptions {   // section `measure`
  std::string device;  // name in the hardware table; empty: the processor's model name
  std::string compiler = "g++";
  std::string c_compiler = "gcc";
  double compile_timeout_s = 20;        // of processor time; four times as long by the clock
  double run_timeout_s = 5;             // of one launch, and of the checks
  double time_budget_s = 0.25;          // of timing one candidate, all cases
  std::int64_t min_rounds = 8;          // in each process
  std::int64_t max_rounds = 64;         // in all processes of a candidate together
  double target_log2_halfwidth = 0.02;  // stop when the 95 % interval within the session is narrower
  std::int64_t memory_limit_mb = 2048;
  std::int64_t output_limit_mb = 64;  // of any file that compiler or candidate writes
  std::int64_t correctness_seeds = 2;
  std::int64_t compile_jobs = 2;
  std::int64_t cores = 0;        // that may be used; 0: those that this process may run on
  bool real_time = true;         // where allowed: keeps a busy machine out of the timings
  std::string sandbox = "auto";  // auto | require | off
};
HostOptions read_host_options(Config& config);

// `input_seed` must be secret: inputs follow from it. A request's task must outlive the measurer.
// Error{environment} when there is no compiler or no runner program.
std::unique_ptr<Measurer> make_host_measurer(const HostOptions& options, std::uint64_t input_seed);

// Admits a task: the reference runs and depends on every input, the seed agrees with it, trivial candidates (zeros, one
// value, copy of an input, unwritten outputs) are refused. Error{bad_data} names the task and what failed;
// Error{interrupted}.
void admit_task(const TaskPack& task, const HostOptions& options, const std::stop_token& stop = {});

// A candidate whose status is not the one that its pack promises.
struct TaskFinding {
  std::string candidate;
  std::string expected;
  std::string got;
  std::string log;
};

struct TaskCheck {
  std::vector<TaskFinding> findings;
  // The largest error of an accepted candidate, as a share of what the tolerance allows there, and whose it is.
  double tolerance_share = 0;
  std::string closest;
};

// Admits the task, then measures every candidate with an `expect` and the first instance of every other source.
TaskCheck check_task(const TaskPack& task, const HostOptions& options, std::stop_token stop);

inline constexpr const char* kHostHarnessVersion = "host-4";

}  // namespace kc
