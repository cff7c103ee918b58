#include "forecast/measurement_interval.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace kc::test {
namespace {

Measurement measurement_of(std::vector<float> candidate, std::vector<float> reference) {
  Measurement measurement;
  measurement.cases = {{"case", 1, std::move(candidate), std::move(reference)}};
  return measurement;
}

TEST(MeasurementInterval, IsTheStoredOneWhereTheHarnessStoredOne) {
  Measurement measurement = measurement_of({1, 1, 1}, {2, 2, 2});
  measurement.facts = {{"log2_low", 0.9}, {"log2_high", 1.1}};
  const Log2Interval interval = log2_speedup_interval(measurement);
  EXPECT_EQ(interval.low, 0.9);
  EXPECT_EQ(interval.high, 1.1);
  EXPECT_TRUE(interval.contains(1));
}

TEST(MeasurementInterval, OfOlderMeasurementsFollowsFromTheSpreadOfRoundsAndTheNoiseFloor) {
  Measurement calm = measurement_of({1, 1, 1, 1}, {2, 2, 2, 2});
  calm.provenance.noise_floor = 0.01;
  // 1.96 sqrt(2) 1.4826 0.01
  EXPECT_NEAR(log2_speedup_interval(calm).high - 1, 0.0411, 1e-4);
  Measurement noisy = measurement_of({1, 1.1F, 0.9F, 1}, {2, 2, 2, 2});
  noisy.provenance.noise_floor = 0.01;
  EXPECT_GT(log2_speedup_interval(noisy).high - log2_speedup_interval(noisy).low, 0.1);
  EXPECT_THROW(log2_speedup_interval(measurement_of({}, {})), Error);
}

TEST(MeasurementInterval, OfARatioJoinsThoseOfBothKernels) {
  Measurement a = measurement_of({1}, {4}), b = measurement_of({1}, {2});
  a.facts = {{"log2_low", 1.97}, {"log2_high", 2.03}};
  b.facts = {{"log2_low", 0.96}, {"log2_high", 1.04}};
  const Log2Interval interval = log2_ratio_interval(a, b);
  EXPECT_NEAR(interval.low, 0.95, 1e-9);
  EXPECT_NEAR(interval.high, 1.05, 1e-9);
}

}  // namespace
}  // namespace kc::test
