#include "rollout/rollout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "rollout/policy_forecaster.h"

namespace kc {
namespace {

void check_rollout_options(const RolloutOptions& options, const PromptEncoder& encoder) {
  if (options.group_size < 2) {
    throw Error(ErrorKind::config,
                fmt::format("policy.group_size is {}: a group's own mean is the baseline, so at least 2 are needed",
                            options.group_size));
  }
  if (!(options.temperature > 0)) {
    throw Error(ErrorKind::config, fmt::format("policy.temperature is {}: rollouts are sampled, so it must be above 0",
                                               options.temperature));
  }
  if (options.wire != WireFormat::direct && options.wire != encoder.wire()) {
    throw Error(ErrorKind::config, fmt::format("the policy's wire format '{}' is not the prompt's '{}'",
                                               name_of(options.wire), name_of(encoder.wire())));
  }
}

std::vector<RolloutGroup> empty_groups(std::span<const RolloutItem> items) {
  std::vector<RolloutGroup> groups(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    groups[i].prompt = items[i].prompt;
    groups[i].truth = items[i].truth;
  }
  return groups;
}

Bin draw_bin(const Probabilities& p, RngStream& rng) {
  double rest = rng.uniform();
  for (Bin bin = 1; bin < kBins; ++bin) {
    rest -= p[bin - 1];
    if (rest < 0) return bin;
  }
  // Rounding can leave a hair above the sum; the last bin that has mass takes it.
  Bin last = kBins;
  while (last > 1 && p[last - 1] == 0) --last;
  return last;
}

struct Source {
  Sampler& sampler;
  const PromptEncoder& encoder;
  const RolloutOptions& options;
};

void sample_direct(const Source& source, std::vector<RolloutGroup>& groups, const RngStream& rng,
                   std::stop_token stop) {
  std::vector<std::vector<TokenId>> prompts;
  for (RolloutGroup& group : groups) {
    group.prompt = source.encoder.direct_prompt(std::move(group.prompt));
    prompts.push_back(group.prompt);
  }
  const auto logprobs = source.sampler.next_token_logprobs(prompts, source.encoder.bin_tokens(), stop);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const DirectReading reading = read_direct(logprobs.at(i));
    const Probabilities policy = read_direct(logprobs.at(i), source.options.temperature).p;
    RngStream draws = rng.child(std::uint64_t{i});
    for (std::int64_t k = 0; k < source.options.group_size; ++k) {
      const Bin bin = draw_bin(policy, draws);
      const auto logprob = static_cast<float>(std::log(policy[bin - 1]));
      groups[i].samples.push_back({{source.encoder.bin_tokens()[bin - 1]}, {logprob}, StopReason::stop_token});
      ParsedForecast parsed = direct_forecast(reading);
      if (parsed) parsed->predicted_bin = bin;
      groups[i].forecasts.push_back(std::move(parsed));
    }
  }
}

void sample_wire(const Source& source, std::vector<RolloutGroup>& groups, const RngStream& rng, std::stop_token stop) {
  std::vector<SampleRequest> requests;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    requests.push_back({groups[i].prompt, source.options.group_size, rng.child(std::uint64_t{i})});
  }
  auto samples = source.sampler.sample(requests, source.encoder.sampling(source.options.temperature), stop);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].samples = std::move(samples.at(i));
    for (const Sample& sample : groups[i].samples) groups[i].forecasts.push_back(source.encoder.parse(sample));
  }
}

void check_group_sizes(const std::vector<RolloutGroup>& groups, std::int64_t group_size) {
  for (const RolloutGroup& group : groups) {
    if (static_cast<std::int64_t>(group.samples.size()) == group_size) continue;
    throw Error(ErrorKind::internal, fmt::format("the sampler returned {} samples of a prompt where {} were asked for",
                                                 group.samples.size(), group_size));
  }
}

}  // namespace

bool RolloutGroup::is_constant() const {
  return std::all_of(rewards.begin(), rewards.end(),
                     [&](const RewardBreakdown& r) { return r.total == rewards.front().total; });
}

std::vector<RolloutGroup> collect_rollouts(Sampler& sampler, const PromptEncoder& encoder,
                                           std::span<const RolloutItem> items, const RolloutOptions& options,
                                           const RewardOptions& reward_options, RngStream rng, std::stop_token stop) {
  check_rollout_options(options, encoder);
  std::vector<RolloutGroup> groups = empty_groups(items);
  if (groups.empty()) return groups;
  const Source source{sampler, encoder, options};
  if (options.wire == WireFormat::direct) {
    sample_direct(source, groups, rng, stop);
  } else {
    sample_wire(source, groups, rng, stop);
  }
  check_group_sizes(groups, options.group_size);
  for (RolloutGroup& group : groups) {
    for (const ParsedForecast& parsed : group.forecasts) {
      group.rewards.push_back(reward(parsed, group.truth, reward_options));
    }
  }
  return groups;
}

}  // namespace kc
