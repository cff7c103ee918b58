#pragma once
// The training run: `train` is a thin program over this.
#include <filesystem>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "model/language_model.h"
#include "rewards/reward.h"
#include "rollout/prompt_encoder.h"
#include "trainer/options.h"

namespace kc {

// A labelled prompt, ready for the model.
struct TrainingExample {
  std::vector<TokenId> prompt;
  Bin truth = 0;
};

// Supplies examples by index, so a resumed run sees the same ones: a pure function of (seed, step).
class ExampleSource {
 public:
  virtual ~ExampleSource() = default;
  virtual std::vector<TrainingExample> batch(std::int64_t step, std::int64_t count) const = 0;
};

struct ValidationScore {
  double brier = 0;  // mean over validation rows of the `direct` reading; the best checkpoint minimises it
  double accuracy = 0;
};

struct TrainingContext {
  LanguageModel* model = nullptr;
  const PromptEncoder* encoder = nullptr;
  const ExampleSource* warmup_examples = nullptr;
  const ExampleSource* policy_examples = nullptr;
  std::function<ValidationScore()> validate;  // on the current weights; may be empty: then no best is kept
  std::filesystem::path run_folder;           // steps/NNNNNN, best, latest, stages.json, metrics.jsonl, tb/ go here
  Manifest manifest;                          // data, config, prompt hashes for checkpoints
  // Further text files of every checkpoint, by name: config.yaml, the prompt template, what the model was trained on.
  std::map<std::string, std::string> checkpoint_files;
  std::uint64_t seed = 1;
  std::stop_token stop;
};

struct StageResult {
  std::int64_t steps_done = 0;
  double seconds = 0;             // of the steps and their checkpoints, resumed parts included
  ValidationScore before, after;  // of this stage
  ValidationScore best;           // of the run so far
  std::string best_checkpoint;    // name under steps/ of that best
};

// Reads what a run folder says about its own state: Error{bad_data} names a damaged stages.json or checkpoint before
// any work is done.
void check_run_folder(const std::filesystem::path& run_folder);

// Each continues from the run folder's `latest` when that belongs to the stage, to the same weights bit for bit as an
// uninterrupted run; a finished stage only loads its final weights and returns its result. Checkpoint names count the
// steps of both stages. When stopped: saves a checkpoint, then Error{interrupted}. Error{check_failed} when a loss or
// gradient is not finite (the last checkpoint stays); Error{config} when the folder holds a run with another seed.
StageResult run_warmup(const TrainingContext& context, const WarmupOptions& options);
StageResult run_policy(const TrainingContext& context, const PolicyOptions& options, const RewardOptions& reward);

}  // namespace kc
