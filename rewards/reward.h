#pragma once
// Rewards of a parsed forecast (docs/forecasting.md, "Rewards"). Pure functions.
#include <string>

#include "base/config.h"
#include "forecast/forecast.h"

namespace kc {

enum class RewardKind { correctness, correctness_brier, correctness_crps };

enum class CrpsScale {
  plain,  // 1 - crps
  skill,  // 1 - crps / crps of the uniform forecast for that bin: the same order, a fair share of the variance
};

struct RewardOptions {
  RewardKind kind = RewardKind::correctness_brier;
  double weight = 1.0;  // of the calibration term; no effect under `correctness`
  CrpsScale crps_scale = CrpsScale::plain;
};

RewardOptions read_reward_options(Config& config);  // section `reward`
std::string name_of(RewardKind kind);

// Components before weighting, logged by themselves. All zero for a parse failure.
struct RewardBreakdown {
  double correct = 0;      // [predicted_bin = t]
  double calibration = 0;  // 1 - brier or 1 - crps (as scaled) as the kind says; 0 under `correctness`
  double total = 0;        // correct + weight * calibration
};

RewardBreakdown reward(const ParsedForecast& parsed, Bin truth, const RewardOptions& options);

}  // namespace kc
