#pragma once
// The CPU itself as the device (docs/measurement.md).
#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/config.h"
#include "measure/measurer.h"

namespace kc {

struct HostOptions {  // section `measure`
  std::string compiler = "g++";
  double compile_timeout_s = 20;
  double run_timeout_s = 5;     // of one launch, and of the checks
  double time_budget_s = 0.25;  // of timing one candidate, all cases
  std::int64_t min_rounds = 8;
  std::int64_t max_rounds = 40;
  double target_log2_halfwidth = 0.02;  // stop when the 95 % interval of the median log2 ratio is narrower
  std::int64_t memory_limit_mb = 2048;
  std::int64_t output_limit_mb = 64;  // of any file that compiler or candidate writes
  std::int64_t correctness_seeds = 2;
  std::int64_t compile_jobs = 2;
  std::string sandbox = "auto";  // auto | require | off
};
HostOptions read_host_options(Config& config);

// Admits a task: the reference runs, the seed agrees with it, trivial candidates (zeros, copy of an input) are refused.
// Error{bad_data} names the task and what failed.
std::unique_ptr<Measurer> make_host_measurer(const HostOptions& options, std::uint64_t input_seed);
void admit_task(const TaskPack& task, const HostOptions& options);

inline constexpr const char* kHostHarnessVersion = "host-1";

}  // namespace kc
