#include "dataset/compare.h"

#include <gtest/gtest.h>

#include <tuple>

#include <fmt/format.h>

#include "forecast/task_revision.h"
#include "tests/dataset/examples.h"

namespace kc {
namespace {

// Two labellings of `count` kernels whose log2 speedups differ by 0.1, 0.2, ...
LabellingComparison comparison_of(int count) {
  Store a, b;
  for (int i = 1; i <= count; ++i) {
    const std::string source = fmt::format("void f{}();", i);
    a.measurements.push_back(examples::measurement("task", source, 0));
    b.measurements.push_back(examples::measurement("task", source, 0.1 * i));
  }
  return compare_labellings(a, b, {50}, RngStream(std::uint64_t{1}));
}

TEST(CompareLabellings, MedianAndQuantileOfTheDifferencesFollowOneRule) {
  for (const auto& [count, median, p95] : {std::tuple{1, 0.1, 0.1}, {2, 0.15, 0.195}, {20, 1.05, 1.905}}) {
    const LabellingComparison comparison = comparison_of(count);
    EXPECT_NEAR(comparison.median_abs_log2_difference, median, 1e-6) << count;
    EXPECT_NEAR(comparison.p95_abs_log2_difference, p95, 1e-6) << count;
  }
}

TEST(CompareLabellings, LeavesOutWhatWasMeasuredOfAnotherStateOfTheTask) {
  Store a, b;
  for (const char* source : {"x", "y", "z"}) {
    a.measurements.push_back(examples::measurement("task", source, 0));
    b.measurements.push_back(examples::measurement("task", source, 0));
  }
  a.measurements[0].facts[kTaskRevision] = a.measurements[1].facts[kTaskRevision] = 1;
  b.measurements[0].facts[kTaskRevision] = 2;
  b.measurements[2].facts[kTaskRevision] = 2;
  const LabellingComparison comparison = compare_labellings(a, b, {50}, RngStream(std::uint64_t{1}));
  EXPECT_EQ(comparison.labels.size(), 2U) << "those of an earlier harness do not say";
  EXPECT_EQ(comparison.other_revision, 1);
}

TEST(CompareLabellings, ComparesTheTaskAsItIsWhereAStoreHoldsOtherStatesToo) {
  Store a, b;
  for (const double state : {1.0, 2.0, 1.0}) {
    a.measurements.push_back(examples::measurement("task", state == 1 && a.measurements.empty() ? "x" : "y", state));
    a.measurements.back().facts[kTaskRevision] = state;
  }
  a.measurements.insert(a.measurements.begin() + 1, a.measurements[1]);
  a.measurements[1].kernel = a.measurements[0].kernel;
  for (const char* source : {"x", "y"}) {
    b.measurements.push_back(examples::measurement("task", source, 1));
    b.measurements.back().facts[kTaskRevision] = 1;
  }
  const LabellingComparison comparison = compare_labellings(a, b, {50}, RngStream(std::uint64_t{1}));
  EXPECT_EQ(comparison.labels.size(), 2U);
  EXPECT_EQ(comparison.other_revision, 0);
  EXPECT_NEAR(comparison.median_abs_log2_difference, 0, 1e-6);
}

TEST(CompareLabellings, CountsWhatOneStoreLacksAndWhatIsOkInOneOfThem) {
  Store a, b;
  for (const char* source : {"x", "y", "z"}) a.measurements.push_back(examples::measurement("task", source, 0));
  for (const char* source : {"y", "z", "u"}) b.measurements.push_back(examples::measurement("task", source, 0));
  b.measurements[0].status = MeasurementStatus::incorrect;
  const LabellingComparison comparison = compare_labellings(a, b, {50}, RngStream(std::uint64_t{1}));
  EXPECT_EQ(comparison.labels.size(), 1U);
  EXPECT_EQ(comparison.status_changed, 1);
  EXPECT_EQ(comparison.in_one_only, 2);
}

}  // namespace
}  // namespace kc
