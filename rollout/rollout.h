#pragma once
// One step's rollouts: prompts -> samples -> parsed forecasts -> rewards, in groups of one prompt.
#include <array>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "forecast/forecast.h"
#include "rewards/reward.h"
#include "rollout/prompt_encoder.h"

namespace kc {

struct RolloutItem {  // a prompt with its label
  std::vector<TokenId> prompt;
  Bin truth = 0;
};

struct RolloutGroup {
  std::vector<TokenId> prompt;  // identical for every sample of the group
  Bin truth = 0;
  std::vector<Sample> samples;            // G of them
  std::vector<ParsedForecast> forecasts;  // G
  std::vector<RewardBreakdown> rewards;   // G
  bool is_constant() const;               // all totals exactly equal: no signal
};

struct RolloutOptions {
  std::int64_t group_size = 8;  // >= 2
  double temperature = 1.0;
};

// `direct` as policy samples the bin token from the distribution renormalised over the eight answers; its forecast is
// that distribution and the sampled bin.
std::vector<RolloutGroup> collect_rollouts(Sampler& sampler, const PromptEncoder& encoder,
                                           std::span<const RolloutItem> items, const RolloutOptions& options,
                                           const RewardOptions& reward, RngStream rng, std::stop_token stop);

// Means over all samples before any group is dropped, and counts. Keys are metric names ("reward/total", ...).
std::map<std::string, double> rollout_metrics(std::span<const RolloutGroup> groups, const RewardOptions& reward);

}  // namespace kc
