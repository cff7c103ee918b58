#include "measure/statistics.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/rng.h"

namespace kc::test {
namespace {

TEST(Statistics, MedianOfOddAndEvenCounts) {
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median_of({7}), 7);
}

TEST(Statistics, SignTestIntervalUsesTheOrderStatisticsOfTheBinomial) {
  // n = 10: P(B <= 1) = 11/1024, so at 5 % the second smallest and second largest; at 1 % the extremes.
  const std::vector<double> values = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
  EXPECT_EQ(sign_test_interval(values, 0.05).low, 2);
  EXPECT_EQ(sign_test_interval(values, 0.05).high, 9);
  EXPECT_EQ(sign_test_interval(values, 0.01).low, 1);
  EXPECT_TRUE(std::isinf(sign_test_interval({1, 2, 3, 4}, 0.05).halfwidth()));
  EXPECT_TRUE(std::isinf(sign_test_interval({}, 0.05).halfwidth()));
}

TEST(Statistics, SignTestIntervalCoversASkewedMedianAsOftenAsItSays) {
  RngStream rng(3);
  int covered = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> values(20);
    for (double& value : values) value = std::exp(2 * rng.normal());
    const Interval interval = sign_test_interval(values, 0.05);
    covered += interval.low <= 1 && 1 <= interval.high;
  }
  EXPECT_GE(covered, 1880);
  EXPECT_LT(covered, 1990);
}

TEST(Statistics, StudentsQuantilesAreTheTabledOnes) {
  EXPECT_NEAR(student_t_quantile(0.05, 1), 12.7062, 1e-4);
  EXPECT_NEAR(student_t_quantile(0.05, 2), 4.3027, 1e-4);
  EXPECT_NEAR(student_t_quantile(0.05, 5), 2.5706, 1e-4);
  EXPECT_NEAR(student_t_quantile(0.025, 7), 2.8412, 1e-4);
  EXPECT_NEAR(student_t_quantile(0.05, 1000), 1.9623, 1e-4);
}

}  // namespace
}  // namespace kc::test
