#pragma once
// Options of the two stages, read from the sections warmup and policy.
#include <cstdint>
#include <string>

#include "base/config.h"

namespace kc {

// Stage 1, supervised warm start.
struct WarmupOptions {
  std::int64_t steps = 600;
  std::int64_t batch_pairs = 64;
  double muon_learning_rate = 0.02;  // of the block matrices
  double adam_learning_rate = 2e-3;  // of everything else
  std::string optimizer = "muon";    // muon | adam (AdamW for every parameter)
  double momentum = 0.95;            // of Muon
  std::int64_t warmup_steps = 30;
  double flat_fraction = 0.6;
  double final_fraction = 0.03;
  double clip_norm = 1.0;                   // 0 = off
  double probability_fraction = 0.5;        // of a batch's rows that also train the probability tokens
  double probability_weight_start = 0.135;  // of the probability tokens' loss, ramped linearly
  double probability_weight_end = 1.35;
  std::int64_t micro_batch_rows = 32;  // sequences in one forward pass; changes speed and memory only
  std::int64_t validate_every = 100;   // 0 = only at the end
  std::int64_t save_every = 100;       // 0 = only at the end
  std::int64_t log_every = 10;         // steps per terminal line
};
WarmupOptions read_warmup_options(Config& config);

// Stage 2, policy gradient.
struct PolicyOptions {
  std::int64_t steps = 200;
  std::int64_t prompts_per_step = 8;
  std::int64_t group_size = 8;
  double temperature = 1.0;
  double learning_rate = 1e-4;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double clip_norm = 0;            // 0 = off (the published run)
  std::string advantage = "mean";  // mean | grpo_std (warns)
  std::string loss = "importance_sampling";
  std::string policy_wire = "auto";  // auto (the prompt's wire format) | compact | tool | direct
  bool train_router = false;
  std::int64_t micro_batch_rows = 32;
  std::int64_t validate_every = 50;
  std::int64_t save_every = 50;
  std::int64_t log_every = 10;
};
PolicyOptions read_policy_options(Config& config);

}  // namespace kc
