#include "trainer/advantages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace kc {
namespace {

PolicySequence trained_part(const RolloutGroup& group, const Sample& sample, TokenId stop_token) {
  if (sample.tokens.size() != sample.logprobs.size()) {
    throw Error(ErrorKind::internal, fmt::format("a sample has {} tokens but {} log-probabilities",
                                                 sample.tokens.size(), sample.logprobs.size()));
  }
  PolicySequence sequence{group.prompt, sample.tokens, sample.logprobs, 0};
  const auto stop = std::find(sequence.tokens.begin(), sequence.tokens.end(), stop_token);
  if (stop != sequence.tokens.end()) {
    const auto kept = static_cast<std::size_t>(stop - sequence.tokens.begin()) + 1;
    sequence.tokens.resize(kept);
    sequence.sampler_logprobs.resize(kept);
  }
  return sequence;
}

}  // namespace

AdvantageKind advantage_kind_of(const std::string& name) {
  if (name == "mean") return AdvantageKind::mean;
  if (name == "grpo_std") return AdvantageKind::grpo_std;
  throw Error(ErrorKind::config, fmt::format("policy.advantage is '{}': expected mean or grpo_std", name));
}

std::vector<double> advantages(const RolloutGroup& group, AdvantageKind kind) {
  const std::size_t size = group.rewards.size();
  if (size < 2) {
    throw Error(ErrorKind::config,
                fmt::format("a group of {} has no baseline: policy.group_size must be at least 2", size));
  }
  double mean = 0;
  for (const RewardBreakdown& reward : group.rewards) mean += reward.total / static_cast<double>(size);
  std::vector<double> result;
  double squares = 0;
  for (const RewardBreakdown& reward : group.rewards) {
    result.push_back(reward.total - mean);
    squares += result.back() * result.back();
  }
  const double deviation = std::sqrt(squares / static_cast<double>(size));
  if (kind == AdvantageKind::grpo_std && deviation > 0) {
    for (double& advantage : result) advantage /= deviation;
  }
  return result;
}

PolicyBatch make_policy_batch(std::span<const RolloutGroup> groups, AdvantageKind kind, TokenId stop_token) {
  PolicyBatch batch;
  for (const RolloutGroup& group : groups) {
    const std::vector<double> group_advantages = advantages(group, kind);
    if (group.is_constant()) {
      ++batch.dropped_groups;
      continue;
    }
    ++batch.kept_groups;
    for (std::size_t i = 0; i < group.samples.size(); ++i) {
      PolicySequence sequence = trained_part(group, group.samples[i], stop_token);
      if (sequence.tokens.empty()) continue;
      sequence.advantage = group_advantages.at(i);
      batch.sequences.push_back(std::move(sequence));
    }
  }
  return batch;
}

}  // namespace kc
