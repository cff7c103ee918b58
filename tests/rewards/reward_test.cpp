#include "rewards/reward.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "forecast/parser.h"
#include "forecast/scoring_rules.h"

namespace kc {
namespace {

ParsedForecast compact(Bin bin, const std::array<int, kBins>& steps) {
  return parse_forecast(compact_text(bin, steps), Completion::stopped, WireFormat::compact);
}

RewardOptions options_of(RewardKind kind, double weight = 1, CrpsScale scale = CrpsScale::plain) {
  return {.kind = kind, .weight = weight, .crps_scale = scale};
}

struct Golden {
  Bin predicted;
  std::array<int, kBins> steps;
  Bin truth;
  double correctness, brier, crps;
};

// By hand: p = steps / sum(steps). Second row sums to 10 and third to 24, so both are renormalised first.
const Golden kGolden[] = {
    {4, {0, 0, 0, 20, 0, 0, 0, 0}, 4, 1, 2, 2},
    {5, {0, 0, 0, 5, 5, 0, 0, 0}, 5, 1, 1 + 0.75, 2 - 0.25 / 7},
    {5, {0, 0, 0, 12, 12, 0, 0, 0}, 4, 0, 0.75, 1 - 0.25 / 7},
    {1, {20, 0, 0, 0, 0, 0, 0, 0}, 8, 0, 0, 0},
    {2, {0, 20, 0, 0, 0, 0, 0, 0}, 4, 0, 0, 1 - 2.0 / 7},
    {3, {0, 0, 20, 0, 0, 0, 0, 0}, 3, 1, 2, 2},
};

TEST(Reward, AgreesWithTheGoldenTable) {
  for (const Golden& g : kGolden) {
    const ParsedForecast parsed = compact(g.predicted, g.steps);
    ASSERT_TRUE(parsed);
    EXPECT_NEAR(reward(parsed, g.truth, options_of(RewardKind::correctness)).total, g.correctness, 1e-12);
    EXPECT_NEAR(reward(parsed, g.truth, options_of(RewardKind::correctness_brier)).total, g.brier, 1e-12);
    EXPECT_NEAR(reward(parsed, g.truth, options_of(RewardKind::correctness_crps)).total, g.crps, 1e-12);
  }
}

TEST(Reward, DependsOnTheBinningThroughTheTruth) {
  const ParsedForecast parsed = compact(5, {0, 0, 0, 0, 20, 0, 0, 0});
  const RewardOptions options = options_of(RewardKind::correctness_brier);
  EXPECT_EQ(reward(parsed, bin_of(1.2, Binning::edges), options).total, 2);
  EXPECT_EQ(reward(parsed, bin_of(1.2, Binning::published), options).total, 0);
}

TEST(Reward, GivesNothingForAParseFailureWhateverTheKind) {
  const ParsedForecast failed = parse_forecast("", Completion::stopped, WireFormat::compact);
  ASSERT_FALSE(failed);
  for (const RewardKind kind : {RewardKind::correctness, RewardKind::correctness_brier, RewardKind::correctness_crps}) {
    const RewardBreakdown r = reward(failed, 4, options_of(kind, 5));
    EXPECT_EQ(r.correct, 0);
    EXPECT_EQ(r.calibration, 0);
    EXPECT_EQ(r.total, 0);
  }
}

TEST(Reward, WeighsTheCalibrationTermOnly) {
  const ParsedForecast parsed = compact(5, {0, 0, 0, 5, 10, 5, 0, 0});
  const RewardBreakdown one = reward(parsed, 5, options_of(RewardKind::correctness_brier, 1));
  const RewardBreakdown five = reward(parsed, 5, options_of(RewardKind::correctness_brier, 5));
  EXPECT_EQ(one.correct, five.correct);
  EXPECT_EQ(one.calibration, five.calibration);
  EXPECT_NEAR(five.total - one.total, 4 * one.calibration, 1e-12);
  EXPECT_EQ(reward(parsed, 5, options_of(RewardKind::correctness, 5)).total, 1);
}

TEST(Reward, SkillScaleIsZeroForTheUniformForecastAndOneForThePerfectOne) {
  const RewardOptions options = options_of(RewardKind::correctness_crps, 1, CrpsScale::skill);
  for (Bin truth = 1; truth <= kBins; ++truth) {
    Forecast uniform;
    uniform.predicted_bin = truth % kBins + 1;
    EXPECT_NEAR(reward(ParsedForecast(uniform), truth, options).calibration, 0, 1e-12);
    Forecast perfect;
    perfect.p = one_hot(truth);
    perfect.predicted_bin = truth;
    EXPECT_NEAR(reward(ParsedForecast(perfect), truth, options).total, 2, 1e-12);
  }
}

TEST(RewardOptions, ReadTheirSection) {
  Config config = Config::parse("reward: {name: correctness_crps, weight: 15, crps_scale: skill}", "test.yaml");
  const RewardOptions options = read_reward_options(config);
  config.finish();
  EXPECT_EQ(options.kind, RewardKind::correctness_crps);
  EXPECT_EQ(options.weight, 15);
  EXPECT_EQ(options.crps_scale, CrpsScale::skill);
}

TEST(RewardOptions, RefuseAnUnknownNameAndANegativeWeight) {
  for (const char* text : {"reward: {name: accuracy}", "reward: {weight: -1}"}) {
    Config config = Config::parse(text, "test.yaml");
    read_reward_options(config);
    EXPECT_THROW(config.finish(), Error) << text;
  }
}

}  // namespace
}  // namespace kc
