#include "rewards/reward.h"

#include "forecast/scoring_rules.h"

namespace kc {

namespace {

double calibration_term(const Probabilities& p, Bin truth, const RewardOptions& options) {
  switch (options.kind) {
    case RewardKind::correctness:
      return 0;
    case RewardKind::correctness_brier:
      return 1 - brier_score(p, truth);
    case RewardKind::correctness_crps:
      break;
  }
  const double scale = options.crps_scale == CrpsScale::skill ? crps(uniform_probabilities(), truth) : 1;
  return 1 - crps(p, truth) / scale;
}

}  // namespace

RewardOptions read_reward_options(Config& config) {
  ConfigSection section = config.section("reward");
  RewardOptions options;
  const std::string kind =
      section.choice("name", name_of(options.kind), {"correctness", "correctness_brier", "correctness_crps"},
                     {.meaning = "what a parsed forecast earns"});
  for (const RewardKind k : {RewardKind::correctness, RewardKind::correctness_brier, RewardKind::correctness_crps}) {
    if (name_of(k) == kind) options.kind = k;
  }
  options.weight = section.number(
      "weight", options.weight, {.meaning = "factor of the calibration term; no effect under `correctness`", .min = 0});
  const std::string scale =
      section.choice("crps_scale", "plain", {"plain", "skill"},
                     {.meaning = "CRPS term as 1 - crps, or relative to the uniform forecast's crps of the same bin"});
  options.crps_scale = scale == "skill" ? CrpsScale::skill : CrpsScale::plain;
  return options;
}

std::string name_of(RewardKind kind) {
  switch (kind) {
    case RewardKind::correctness:
      return "correctness";
    case RewardKind::correctness_brier:
      return "correctness_brier";
    case RewardKind::correctness_crps:
      return "correctness_crps";
  }
  return "?";
}

RewardBreakdown reward(const ParsedForecast& parsed, Bin truth, const RewardOptions& options) {
  if (!parsed) return {};
  RewardBreakdown result;
  result.correct = parsed->predicted_bin == truth ? 1 : 0;
  result.calibration = calibration_term(parsed->p, truth, options);
  result.total = result.correct + options.weight * result.calibration;
  return result;
}

}  // namespace kc
