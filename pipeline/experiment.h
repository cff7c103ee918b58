#pragma once
// Everything that a run's config says, and the parts that training, evaluation and use build from it in the same way.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataset/pairs.h"
#include "model/language_model.h"
#include "model/lora.h"
#include "pipeline/dataset_views.h"
#include "rewards/reward.h"
#include "rollout/prompt_encoder.h"
#include "tokenizer/tokenizer.h"
#include "trainer/options.h"
#include "weights/gpt_oss_config.h"

namespace kc {

struct RunOptions {
  std::string dir;  // empty: checkpoints/<config name>-<seed>
  std::uint64_t seed = 1;
  int threads = 2;
  std::string init;  // checkpoint to start from instead of a fresh model; empty: fresh
};

struct EvaluateOptions {
  std::int64_t rows = 800;             // pairs drawn from each split
  std::int64_t samples = 3;            // completions per row of the sampled reading
  std::int64_t validation_rows = 400;  // pairs for the checks during training
  std::int64_t bootstrap = 1000;
  std::uint64_t seed = 20;
  bool ensemble_mean = false;
  std::vector<std::string> readings;  // direct, guarded, sampled (or its wire format's name)
  std::vector<std::string> splits;    // kernels, task, device, validation
};

struct ExperimentOptions {
  RunOptions run;
  DataOptions data;
  PromptFormat prompt;
  std::string hardware_file;
  std::string vocabulary_path;  // file or folder of a vocabulary to use as it is; empty: run.init's, or one is trained
  VocabularyOptions vocabulary;
  std::int64_t vocabulary_prompts = 4000;  // training prompts that the vocabulary is trained on
  GptOssConfig model;
  std::optional<ExpertStorage> experts;  // of the checkpoint of run.init in memory; nothing: as it stores them
  LoraOptions lora;                      // an adapter over the checkpoint of run.init
  WarmupOptions warmup;
  PolicyOptions policy;
  RewardOptions reward;
  EvaluateOptions evaluate;
  std::string config_name;
  std::string config_yaml;  // resolved
  std::string config_hash;
};

// How a stored model of this experiment is opened: a folder without a vocabulary takes that of tokenizer.path.
LoadOptions load_options(const ExperimentOptions& options);
// Error{config} when tokenizer.path names a file or folder that is not there.
void require_vocabulary_path(const ExperimentOptions& options);
// Error{config} when tokenizer.path names another vocabulary than the model's, which it took from its own `folder`.
void require_vocabulary(const LanguageModel& model, const std::filesystem::path& folder,
                        const ExperimentOptions& options);

// Reads every section that training and evaluation know and finishes the config: throws before any work is done.
ExperimentOptions read_experiment_options(Config& config);

// The measurements of data.path with their parts, checked for leaks between parts.
class ExperimentData {
 public:
  ExperimentData(const std::filesystem::path& file, const DataOptions& options);

  const Store& store() const { return store_; }
  const std::vector<Part>& parts() const { return parts_; }
  PairSampler sampler(Part part) const;
  bool has(Part part) const;  // at least one pair

 private:
  Store store_;
  std::vector<Part> parts_;
};

// What a model was trained on; stored with every checkpoint as training_profile.json.
struct TrainingProfile {
  std::vector<std::string> tasks;
  std::vector<std::string> devices;
  Probabilities base_rates = uniform_probabilities();
  BinValues bin_values = default_bin_values();
  std::vector<TokenId> seen_tokens;  // ids that occurred in training prompts
  double typical_unseen_share = 0;   // 99 % quantile of the share of unseen tokens over held-out validation prompts
  std::int64_t longest_prompt = 0;   // tokens
};
TrainingProfile make_training_profile(const ExperimentData& data, const PromptEncoder& encoder,
                                      const HardwareTable& hardware, std::uint64_t seed);
// Base rates and bin values alone, out of the training split: for a model of which nothing says what it was trained on.
TrainingProfile make_label_profile(const ExperimentData& data, std::uint64_t seed);
std::string to_json_text(const TrainingProfile& profile);
TrainingProfile read_training_profile(const std::filesystem::path& file);

// Share of a prompt's tokens that never occurred in training.
double unseen_share(const TrainingProfile& profile, const std::vector<TokenId>& prompt);

}  // namespace kc
