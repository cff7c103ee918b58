#include "eval/intervals.h"

#include <cmath>

#include <gtest/gtest.h>

namespace kc {
namespace {

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  std::vector<double> values = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 4);
}

TEST(TInterval, AgreesWithTheTextbook) {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6};
  const auto interval = t_interval(values);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->second - 3.5, 2.570582 * std::sqrt(3.5 / 6), 1e-6);
  EXPECT_NEAR(interval->first + interval->second, 7, 1e-12);
  EXPECT_FALSE(t_interval(std::vector<double>{1, 2}));
}

TEST(TInterval, CoversTheMeanInNineteenOfTwenty) {
  RngStream rng(3);
  for (const std::size_t n : {3, 6, 40}) {
    int covered = 0;
    for (int trial = 0; trial < 4000; ++trial) {
      std::vector<double> values(n);
      for (double& x : values) x = rng.normal();
      const auto interval = *t_interval(values);
      covered += interval.first <= 0 && interval.second >= 0 ? 1 : 0;
    }
    EXPECT_NEAR(covered / 4000.0, 0.95, 0.015) << n;
  }
}

TEST(SignFlip, SmallestPOfSixTasks) {
  EXPECT_NEAR(sign_flip_p(std::vector<double>{1, 2, 3, 4, 5, 6}, RngStream(1)), 2.0 / 64, 1e-12);
  EXPECT_NEAR(sign_flip_p(std::vector<double>{.1, .1, .1, .1, .1, .1}, RngStream(1)), 2.0 / 64, 1e-12);
}

TEST(SignFlip, CountsAssignmentsExactly) {
  // Sums of +-1 +-2 +-3: |sum| >= |1 - 2 + 3| = 2 in 6 of 8.
  EXPECT_NEAR(sign_flip_p(std::vector<double>{1, -2, 3}, RngStream(1)), 6.0 / 8, 1e-12);
  EXPECT_EQ(sign_flip_p(std::vector<double>{}, RngStream(1)), 1);
  EXPECT_EQ(sign_flip_p(std::vector<double>{0, 0, 0}, RngStream(1)), 1);
}

TEST(SignFlip, RandomAssignmentsAgreeWithExactOnes) {
  std::vector<double> values(20);
  RngStream rng(9);
  for (double& x : values) x = rng.normal() + 0.3;
  const double exact = sign_flip_p(values, RngStream(1));
  values.push_back(0);  // changes no sum, but is one too many for the exact test
  EXPECT_NEAR(sign_flip_p(values, RngStream(1)), exact, 0.01);
}

TEST(Resample, DrawsRowsAndWholeTasks) {
  RngStream rng(2);
  std::vector<double> weights(6);
  double total = 0;
  resample_rows(6)(rng, weights);
  for (const double w : weights) total += w;
  EXPECT_EQ(total, 6);
  for (int trial = 0; trial < 20; ++trial) {
    resample_tasks({0, 0, 1, 1, 2, 2}, 3)(rng, weights);
    EXPECT_EQ(weights[0], weights[1]);
    EXPECT_EQ(weights[2], weights[3]);
    EXPECT_EQ(weights[0] + weights[2] + weights[4], 3);
  }
}

}  // namespace
}  // namespace kc
