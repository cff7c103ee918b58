#pragma once
// Measuring and storing: what `measure label` does.
#include <array>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "dataset/label_store.h"
#include "measure/measurer.h"
#include "pipeline/speedups.h"

namespace kc {

struct LabelOptions {
  std::int64_t limit_per_task = 0;  // at most so many candidates of each task, drawn by `seed`; 0 = all
  std::uint64_t seed = 1;
  bool measure_again = false;  // also what is stored already under the same compiler, flags and harness
};

struct LabelReport {
  std::int64_t measured = 0;
  std::int64_t already_stored = 0;
  std::array<std::int64_t, kMeasurementStatuses> by_status{};
  std::vector<std::string> unexpected;  // candidates whose status differs from the one their task declares
  FastestKernels fastest;               // of those that were measured
  std::string ended_early;              // why, when a budget was spent before all candidates
  double seconds = 0;
};

// Appends each result as it arrives and folds the journal into the file at the end, also when stopped (then throws
// Error{interrupted}). Shows progress.
LabelReport label_tasks(const std::vector<TaskPack>& tasks, Measurer& measurer, const std::filesystem::path& out,
                        const LabelOptions& options, std::stop_token stop);

}  // namespace kc
