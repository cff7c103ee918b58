#pragma once
// The main job: data, vocabulary, warm start, policy gradient, and the evaluation of both.
#include <filesystem>
#include <stop_token>
#include <string>

#include "pipeline/experiment.h"
#include "trainer/run.h"

namespace kc {

struct TrainingRunResult {
  std::filesystem::path run_folder;
  StageResult warmup;
  StageResult policy;
  bool second_stage_made_it_worse = false;  // by validation Brier of the direct reading
  std::string tables;                       // evaluation before and after, for the terminal
};

// `resume` continues the run in its folder; without it an existing run folder is an Error{usage} that says so. Writes
// the files of checkpoints/README.md. Throws Error{interrupted} with everything finished so far on disk.
TrainingRunResult run_training(const ExperimentOptions& options, bool resume, std::stop_token stop);

// run.dir, or its default under the project's checkpoints/.
std::filesystem::path run_folder_of(const ExperimentOptions& options);

}  // namespace kc
