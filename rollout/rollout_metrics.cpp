#include <set>

#include "rollout/rollout.h"

namespace kc {
namespace {

class Mean {
 public:
  void add(double value) {
    sum_ += value;
    ++count_;
  }
  double value() const { return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_); }
  double sum() const { return sum_; }

 private:
  double sum_ = 0;
  std::int64_t count_ = 0;
};

using Metrics = std::map<std::string, double>;

template <class Component>
double variance_inside_groups(std::span<const RolloutGroup> groups, Component component) {
  Mean variance;
  for (const RolloutGroup& group : groups) {
    Mean mean;
    for (const RewardBreakdown& reward : group.rewards) mean.add(component(reward));
    for (const RewardBreakdown& reward : group.rewards) {
      const double deviation = component(reward) - mean.value();
      variance.add(deviation * deviation);
    }
  }
  return variance.value();
}

void add_reward_metrics(std::span<const RolloutGroup> groups, const RewardOptions& options, Metrics& metrics) {
  Mean total, correct, calibration;
  for (const RolloutGroup& group : groups) {
    for (const RewardBreakdown& reward : group.rewards) {
      total.add(reward.total);
      correct.add(reward.correct);
      calibration.add(reward.calibration);
    }
  }
  metrics["reward/total"] = total.value();
  metrics["reward/correct"] = correct.value();
  metrics["reward/calibration"] = calibration.value();
  const double of_correct = variance_inside_groups(groups, [](const RewardBreakdown& r) { return r.correct; });
  const double of_calibration =
      options.kind == RewardKind::correctness
          ? 0.0
          : variance_inside_groups(groups, [&](const RewardBreakdown& r) { return options.weight * r.calibration; });
  const double sum = of_correct + of_calibration;
  metrics["reward/variance_share_correct"] = sum > 0 ? of_correct / sum : 0.0;
  metrics["reward/variance_share_calibration"] = sum > 0 ? of_calibration / sum : 0.0;
}

void add_forecast_metrics(std::span<const RolloutGroup> groups, Metrics& metrics) {
  Mean confidence_mean, entropy_mean, raw_sum, not_argmax;
  std::set<Probabilities> distinct;
  for (int outcome = 0; outcome < kParseOutcomes; ++outcome) {
    metrics["parse/" + std::string(name_of(static_cast<ParseOutcome>(outcome)))] = 0;
  }
  for (const RolloutGroup& group : groups) {
    for (const ParsedForecast& parsed : group.forecasts) {
      const ParseOutcome outcome = parsed ? ParseOutcome::ok : parsed.error().outcome;
      metrics["parse/" + std::string(name_of(outcome))] += 1;
      if (!parsed) continue;
      confidence_mean.add(confidence(parsed->p));
      entropy_mean.add(entropy(parsed->p));
      raw_sum.add(parsed->raw_sum);
      not_argmax.add(parsed->p[parsed->predicted_bin - 1] < confidence(parsed->p) ? 1.0 : 0.0);
      distinct.insert(parsed->p);
    }
  }
  metrics["forecast/confidence"] = confidence_mean.value();
  metrics["forecast/entropy"] = entropy_mean.value();
  metrics["forecast/raw_sum"] = raw_sum.value();
  metrics["forecast/predicted_not_argmax"] = not_argmax.value();
  metrics["forecast/distinct"] = static_cast<double>(distinct.size());
}

void add_token_metrics(std::span<const RolloutGroup> groups, Metrics& metrics) {
  Mean tokens, surprise;
  for (const RolloutGroup& group : groups) {
    for (const Sample& sample : group.samples) {
      tokens.add(static_cast<double>(sample.tokens.size()));
      for (const float logprob : sample.logprobs) surprise.add(-static_cast<double>(logprob));
    }
  }
  metrics["tokens/sampled"] = tokens.sum();
  metrics["tokens/mean"] = tokens.value();
  metrics["policy/entropy"] = surprise.value();
}

}  // namespace

std::map<std::string, double> rollout_metrics(std::span<const RolloutGroup> groups, const RewardOptions& reward) {
  Metrics metrics;
  add_reward_metrics(groups, reward, metrics);
  add_forecast_metrics(groups, metrics);
  add_token_metrics(groups, metrics);
  return metrics;
}

}  // namespace kc
