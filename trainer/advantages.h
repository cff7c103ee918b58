#pragma once
// From groups of rollouts to the sequences that a policy-gradient step trains on. Torch-free, pure.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rollout/rollout.h"

namespace kc {

enum class AdvantageKind {
  mean,      // r - mean of the group
  grpo_std,  // the same over the group's standard deviation: induces overconfidence, for comparison only
};
AdvantageKind advantage_kind_of(const std::string& name);  // Error{config} when unknown

// One advantage per sample of the group. Error{config} for a group of fewer than two.
std::vector<double> advantages(const RolloutGroup& group, AdvantageKind kind);

struct PolicySequence {
  std::vector<TokenId> prompt;
  std::vector<TokenId> tokens;          // sampled, up to and including the first stop token
  std::vector<float> sampler_logprobs;  // one per token
  double advantage = 0;                 // falls on every token
};

struct PolicyBatch {
  std::vector<PolicySequence> sequences;  // of the kept groups
  std::int64_t kept_groups = 0;
  std::int64_t dropped_groups = 0;  // constant ones: no signal
  bool empty() const { return sequences.empty(); }
};

// Error{internal} when a sample's tokens and log-probabilities differ in number.
PolicyBatch make_policy_batch(std::span<const RolloutGroup> groups, AdvantageKind kind, TokenId stop_token);

}  // namespace kc
