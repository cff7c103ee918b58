#include "forecast/measurement.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/error.h"

namespace kc {
namespace {

Measurement with_cases(std::vector<CaseTiming> cases) {
  Measurement m;
  m.cases = std::move(cases);
  return m;
}

TEST(Log2Speedup, IsTheMedianRatioOfTheSameRounds) {
  // Ratios 2, 1, 4: the median is 2, although the ratio of the medians is 200/100 of other rounds.
  const Measurement m = with_cases({{"n", 1, {100, 300, 50}, {200, 300, 200}}});
  EXPECT_NEAR(log2_speedup_scalar(m), 1, 1e-12);
}

TEST(Log2Speedup, AveragesAnEvenNumberOfRounds) {
  const Measurement m = with_cases({{"n", 1, {1, 1}, {1, 3}}});
  EXPECT_NEAR(log2_speedup_scalar(m), 1, 1e-12);
}

TEST(Log2Speedup, IsTheGeometricMeanOverCases) {
  const Measurement m = with_cases({{"a", 1, {1}, {8}}, {"b", 1, {1}, {2}}});
  EXPECT_NEAR(log2_speedup_scalar(m), 2, 1e-12);
}

TEST(Log2Speedup, WithoutAReferenceIsPerUnitOfWork) {
  const Measurement a = with_cases({{"n", 1, {100}, {}}}), b = with_cases({{"n", 4, {100}, {}}});
  EXPECT_NEAR(log2_speedup_scalar(b) - log2_speedup_scalar(a), 2, 1e-12);
}

TEST(Log2Speedup, RefusesWhatHasNone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::vector<CaseTiming>> bad = {
      {},
      {{"n", 1, {}, {}}},
      {{"n", 1, {0}, {}}},
      {{"n", 1, {nan}, {}}},
      {{"n", 0, {1}, {}}},
      {{"n", 1, {1, 2}, {1}}},
      {{"n", 1, {1}, {-1}}},
      {{"a", 1, {1}, {1}}, {"b", 1, {1}, {}}},
  };
  for (std::size_t i = 0; i < bad.size(); ++i) EXPECT_THROW(log2_speedup_scalar(with_cases(bad[i])), Error) << i;
}

TEST(MeasurementStatus, NamesGoBothWays) {
  for (int i = 0; i < kMeasurementStatuses; ++i) {
    const auto status = static_cast<MeasurementStatus>(i);
    EXPECT_EQ(measurement_status_of(name_of(status)), status);
  }
  EXPECT_THROW(measurement_status_of("fine"), Error);
}

}  // namespace
}  // namespace kc
