#include "forecast/scoring_rules.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace kc {
namespace {

Probabilities random_distribution(RngStream& rng) {
  Probabilities p;
  double sum = 0;
  for (double& x : p) sum += x = -std::log(1 - rng.uniform());
  for (double& x : p) x /= sum;
  return p;
}

TEST(ScoringRules, UniformForecast) {
  const Probabilities uniform = uniform_probabilities();
  for (Bin t = 1; t <= kBins; ++t) {
    EXPECT_NEAR(brier_score(uniform, t), 0.4375, 1e-12);
    EXPECT_NEAR(nll(uniform, t), std::log(8.0), 1e-12);
  }
  EXPECT_NEAR(1 - crps(uniform, 1), 0.6875, 1e-12);  // ends of the range that docs/forecasting.md names
  EXPECT_NEAR(1 - crps(uniform, 4), 0.9018, 1e-4);
}

TEST(ScoringRules, OneHotForecastScoresItsDistance) {
  for (Bin b = 1; b <= kBins; ++b) {
    for (Bin t = 1; t <= kBins; ++t) {
      EXPECT_NEAR(crps(one_hot(b), t), std::abs(b - t) / 7.0, 1e-12);
      EXPECT_NEAR(brier_score(one_hot(b), t), b == t ? 0 : 1, 1e-12);
      EXPECT_NEAR(nll(one_hot(b), t), b == t ? 0 : -std::log(1e-12), 1e-9);
    }
  }
}

TEST(ScoringRules, AreProper) {
  // The expected score under q is least for the forecast q: no random alternative does better.
  const std::vector<std::pair<std::string, std::function<double(const Probabilities&, Bin)>>> rules = {
      {"brier", brier_score}, {"crps", crps}, {"nll", nll}};
  RngStream rng(11);
  for (const auto& [name, score] : rules) {
    const auto expected = [&](const Probabilities& forecast, const Probabilities& truth) {
      double sum = 0;
      for (Bin t = 1; t <= kBins; ++t) sum += truth[t - 1] * score(forecast, t);
      return sum;
    };
    for (int trial = 0; trial < 2000; ++trial) {
      const Probabilities truth = random_distribution(rng);
      const Probabilities other = random_distribution(rng);
      Probabilities near = truth;
      for (std::size_t i = 0; i < near.size(); ++i) near[i] = 0.99 * truth[i] + 0.01 * other[i];
      EXPECT_LT(expected(truth, truth), expected(other, truth)) << name;
      EXPECT_LT(expected(truth, truth), expected(near, truth)) << name;
    }
  }
}

}  // namespace
}  // namespace kc
