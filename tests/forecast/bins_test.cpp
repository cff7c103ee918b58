#include "forecast/bins.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"

namespace kc {
namespace {

TEST(Bins, AnEdgeBelongsToTheBinBelowIt) {
  const auto& edges = bin_upper_edges();
  for (Bin b = 1; b < kBins; ++b) {
    const double edge = edges[b - 1];
    EXPECT_EQ(bin_of(edge), b);
    EXPECT_EQ(bin_of(std::nextafter(edge, 10.0)), b + 1);
  }
}

TEST(Bins, InnerEdgesAreExactRoots) {
  EXPECT_EQ(bin_upper_edges()[2], std::exp2(-0.5));
  EXPECT_EQ(bin_upper_edges()[4], std::numbers::sqrt2);
  EXPECT_EQ(bin_of(0.70715), 4) << "four printed digits are not the edge";
}

TEST(Bins, CoverExtremeSpeedups) {
  EXPECT_EQ(bin_of(std::numeric_limits<double>::denorm_min()), 1);
  EXPECT_EQ(bin_of(std::numeric_limits<double>::max()), 8);
}

TEST(Bins, PublishedFormulaShiftsTheMiddle) {
  EXPECT_EQ(bin_of(1.2, Binning::edges), 5);
  EXPECT_EQ(bin_of(1.2, Binning::published), 4);
  EXPECT_EQ(bin_of(1.0, Binning::published), 4);
  EXPECT_EQ(bin_of(0.99, Binning::published), 3);
  EXPECT_EQ(bin_of(1e-9, Binning::published), 1);
  EXPECT_EQ(bin_of(1e9, Binning::published), 8);
}

TEST(Bins, RefuseWhatIsNoSpeedup) {
  for (const double s : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(bin_of(s), Error) << s;
    EXPECT_THROW(bin_of(s, Binning::published), Error) << s;
  }
}

TEST(Bins, ValuesOfOpenBinsAreTrainingMeans) {
  const std::vector<double> training = {-4.0, -2.0, 3.0, 5.0, 0.1, -1.9, 2.0};
  const BinValues values = bin_values_of(training);
  EXPECT_EQ(values.front(), -3);
  EXPECT_EQ(values.back(), 4);
  EXPECT_EQ(values[3], -0.25);
  EXPECT_EQ(bin_values_of({}), default_bin_values());
}

TEST(Bins, SummariesOfADistribution) {
  const Probabilities uniform = uniform_probabilities();
  EXPECT_NEAR(entropy(uniform), std::log(8.0), 1e-12);
  EXPECT_EQ(entropy(one_hot(3)), 0);
  EXPECT_EQ(argmax_bin(uniform), 1) << "the lowest of equals";
  EXPECT_EQ(argmax_bin(one_hot(8)), 8);
  EXPECT_EQ(confidence(one_hot(2)), 1);
  EXPECT_NEAR(expected_log2_speedup(uniform, default_bin_values()), -0.0625, 1e-12);
  EXPECT_THROW(one_hot(0), Error);
  EXPECT_THROW(bin_name(9), Error);
}

}  // namespace
}  // namespace kc
