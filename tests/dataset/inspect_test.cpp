#include "dataset/inspect.h"

#include <gtest/gtest.h>

#include <numeric>

#include <nlohmann/json.hpp>

#include "tests/dataset/examples.h"

namespace kc {
namespace {

TEST(Inspect, CountsByTaskStatusAndBin) {
  Store store = examples::spread_store(2, 10);
  store.measurements[3].status = MeasurementStatus::timeout;
  RatioRow ratio;
  ratio.baseline = "torch_eager";
  store.ratios.assign(3, ratio);
  const StoreSummary summary = summarise(store);
  EXPECT_EQ(summary.measurements, 20);
  EXPECT_EQ(summary.kernels, 20);
  EXPECT_EQ(summary.ratios_by_baseline.at("torch_eager"), 3);
  ASSERT_EQ(summary.groups.size(), 2U);
  const GroupSummary& group = summary.groups[0];
  EXPECT_EQ(group.by_status[static_cast<std::size_t>(MeasurementStatus::ok)], 9);
  EXPECT_EQ(group.by_status[static_cast<std::size_t>(MeasurementStatus::timeout)], 1);
  EXPECT_EQ(std::accumulate(group.pairs_by_bin.begin(), group.pairs_by_bin.end(), std::int64_t{0}), 9 * 8);
  EXPECT_NEAR(group.noise_cv, 0.0155, 0.001);
  ASSERT_EQ(summary.runs.size(), 1U);
  EXPECT_EQ(summary.runs[0].rows, 20);
  EXPECT_EQ(summary.runs[0].provenance.noise_floor, 0.004);
  EXPECT_EQ(to_json(summary)["groups"][0]["by_status"]["timeout"], 1);
}

TEST(Inspect, RowsOfAnEarlierBuildAreStale) {
  Store store = examples::spread_store(2, 4);
  EXPECT_TRUE(find_stale(store).empty());
  Measurement newer = store.measurements[0];
  newer.provenance.compiler = "g++ 14";
  store.measurements.push_back(newer);
  const auto stale = find_stale(store);
  ASSERT_EQ(stale.size(), 1U);
  EXPECT_EQ(stale[0].task, "task0");
  EXPECT_EQ(stale[0].compiler, "g++ 12.2");
  EXPECT_EQ(stale[0].rows, 4);
}

}  // namespace
}  // namespace kc
