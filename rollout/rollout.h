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
  std::int64_t group_size = 8;            // >= 2: a group of one minus its own mean gives no signal
  double temperature = 1.0;               // > 0
  WireFormat wire = WireFormat::compact;  // what the policy samples; `tool` and `compact` must be the encoder's own
};

// `direct` as policy samples the bin token from the distribution renormalised over the eight answers (and tempered);
// its forecast is that distribution at temperature 1 and the sampled bin, its log-probability that of the draw.
// Item i draws from rng.child(i). Error{config} for options out of range.
std::vector<RolloutGroup> collect_rollouts(Sampler& sampler, const PromptEncoder& encoder,
                                           std::span<const RolloutItem> items, const RolloutOptions& options,
                                           const RewardOptions& reward, RngStream rng, std::stop_token stop);

// Means over all samples before any group is dropped, and counts:
//   reward/total, reward/correct, reward/calibration        means of the components (failures count as 0)
//   reward/variance_share_correct, .._calibration           shares of the variance inside groups, weights applied
//   parse/<outcome>                                         samples with this outcome, every category present
//   forecast/confidence, entropy, raw_sum, distinct         over parsed samples; distinct = different distributions
//   forecast/predicted_not_argmax                           share of parsed samples
//   tokens/sampled, tokens/mean, policy/entropy             policy/entropy = -mean log-probability of a sampled token
std::map<std::string, double> rollout_metrics(std::span<const RolloutGroup> groups, const RewardOptions& reward);

}  // namespace kc
