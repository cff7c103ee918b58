#include "dataset/pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "dataset/pair_groups.h"
#include "forecast/task_revision.h"
#include "tests/dataset/examples.h"

namespace kc {
namespace {

using examples::measurement;

std::vector<Part> all_train(const Store& store) { return std::vector<Part>(store.measurements.size(), Part::train); }

PairSampler sampler_of(const Store& store) { return PairSampler(store, all_train(store), Part::train); }

// A measurement without reference side that takes `ns`.
Measurement timed(const std::string& source, float ns) {
  Measurement m = measurement("task", source, 0);
  m.cases = {{"only", 1, {ns}, {}}};
  return m;
}

TEST(Pairs, EveryLabelIsTheBinOfItsSpeedup) {
  const Store store = examples::spread_store(3, 25);
  for (const Binning binning : {Binning::edges, Binning::published}) {
    const PairDraw draw = sampler_of(store).draw_balanced({.count = 800, .binning = binning}, RngStream(1));
    ASSERT_FALSE(draw.rows.empty());
    for (const PairRow& row : draw.rows) {
      const Measurement& reference = store.measurements[row.reference];
      const Measurement& candidate = store.measurements[row.candidate];
      EXPECT_EQ(reference.task, candidate.task);
      EXPECT_NE(row.reference, row.candidate);
      EXPECT_NEAR(row.log2_speedup, log2_speedup_scalar(candidate) - log2_speedup_scalar(reference), 1e-9);
      EXPECT_EQ(row.bin, bin_of(std::exp2(row.log2_speedup), binning));
      EXPECT_EQ(row.kind, reference.is_seed ? PairKind::seed : PairKind::pair);
    }
  }
}

TEST(Pairs, ASpeedupThatIsExactlyAnEdgeBelongsToTheLowerBin) {
  Store store;
  // Ratios of 2 and 4 between decimal times, and a tie.
  store.measurements = {timed("a", 1024.F), timed("b", 2048.F), timed("c", 4096.F), timed("d", 1024.F),
                        timed("e", 1.7F),   timed("f", 3.4F),   timed("g", 6.8F),   timed("h", 0.85F)};
  const PairDraw draw = sampler_of(store).draw_balanced({.count = 8000}, RngStream(1));
  EXPECT_EQ(draw.rows.size(), 8U * 7U);
  for (const PairRow& row : draw.rows) {
    const double speedup = static_cast<double>(store.measurements[row.reference].cases[0].candidate_ns[0]) /
                           static_cast<double>(store.measurements[row.candidate].cases[0].candidate_ns[0]);
    EXPECT_EQ(row.bin, bin_of(speedup)) << speedup;
  }
}

TEST(Pairs, CountsAgreeWithEnumeration) {
  const Store store = examples::spread_store(2, 31);
  for (const Binning binning : {Binning::edges, Binning::published}) {
    std::array<std::int64_t, kBins> expected{};
    for (std::size_t a = 0; a < store.measurements.size(); ++a) {
      for (std::size_t b = 0; b < store.measurements.size(); ++b) {
        if (a == b || store.measurements[a].task != store.measurements[b].task) continue;
        const double x =
            pair_log2(log2_speedup_scalar(store.measurements[a]), log2_speedup_scalar(store.measurements[b]));
        ++expected[bin_of(std::exp2(x), binning) - 1];
      }
    }
    EXPECT_EQ(sampler_of(store).available(binning), expected);
  }
}

TEST(Pairs, AreDrawnEquallyFromBinsAndTasks) {
  const Store store = examples::spread_store(4, 60);
  const PairDraw draw = sampler_of(store).draw_balanced({.count = 1603}, RngStream(1));
  std::map<Bin, int> by_bin;
  std::map<std::pair<Bin, std::string>, int> by_task;
  for (const PairRow& row : draw.rows) {
    ++by_bin[row.bin];
    ++by_task[{row.bin, store.measurements[row.candidate].task}];
  }
  EXPECT_THAT(draw.shortfall, testing::Each(0));
  // The remainder of 3 goes to the middle bins.
  for (const auto& [bin, n] : by_bin) EXPECT_EQ(n, bin >= 3 && bin <= 5 ? 201 : 200) << bin;
  for (const auto& [key, n] : by_task) EXPECT_NEAR(n, 50, 1);
}

TEST(Pairs, ATaskThatRunsOutIsFilledUpByTheOthers) {
  Store store = examples::spread_store(3, 40);
  for (int i = 0; i < 3; ++i) store.measurements.push_back(measurement("tiny", fmt::format("t{}", i), 0.3 * i));
  const PairDraw draw = sampler_of(store).draw_balanced({.count = 800}, RngStream(1));
  EXPECT_EQ(draw.rows.size(), 800U);
  int tiny_in_bin_5 = 0;
  for (const PairRow& row : draw.rows) {
    if (row.bin == 5 && store.measurements[row.candidate].task == "tiny") ++tiny_in_bin_5;
  }
  EXPECT_EQ(tiny_in_bin_5, 2);
}

TEST(Pairs, NoPairIsDrawnTwiceAndShortfallsAreReported) {
  Store store;
  for (int i = 0; i < 6; ++i) store.measurements.push_back(measurement("task", fmt::format("f{}", i), 0.1 * i));
  const PairDraw draw = sampler_of(store).draw_balanced({.count = 160}, RngStream(1));
  std::set<std::pair<std::size_t, std::size_t>> seen;
  for (const PairRow& row : draw.rows) EXPECT_TRUE(seen.insert({row.reference, row.candidate}).second);
  EXPECT_EQ(draw.rows.size(), 30U);  // every ordered pair is within a factor of sqrt 2
  EXPECT_EQ(draw.shortfall, (std::array<std::int64_t, kBins>{20, 20, 20, 5, 5, 20, 20, 20}));
}

TEST(Pairs, TheSameStreamGivesTheSameDraw) {
  const Store store = examples::spread_store(3, 40);
  const auto draw = [&](std::uint64_t seed) {
    std::vector<std::pair<std::size_t, std::size_t>> rows;
    for (const PairRow& row : sampler_of(store).draw_balanced({.count = 400}, RngStream(seed)).rows) {
      rows.emplace_back(row.reference, row.candidate);
    }
    return rows;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(Pairs, DrawsAreUniformWithinABin) {
  Store store;
  for (int i = 0; i < 5; ++i) store.measurements.push_back(measurement("task", fmt::format("f{}", i), 0.1 * i));
  const PairSampler sampler = sampler_of(store);
  std::map<std::pair<std::size_t, std::size_t>, int> times;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    // One pair of each of bins 4 and 5, of ten each.
    for (const PairRow& row : sampler.draw_balanced({.count = 8}, RngStream(seed)).rows) {
      ++times[{row.reference, row.candidate}];
    }
  }
  EXPECT_EQ(times.size(), 20U);
  for (const auto& [pair, n] : times) EXPECT_NEAR(n, 400, 100);
}

TEST(Pairs, StayWithinAPartADeviceAndAKindOfLabel) {
  Store store = examples::spread_store(1, 12);
  store.measurements[1].provenance.device = "other";
  for (CaseTiming& timing : store.measurements[2].cases) timing.reference_ns.clear();
  store.measurements[3].status = MeasurementStatus::incorrect;
  auto parts = all_train(store);
  parts[4] = Part::kernels;
  const PairSampler sampler(store, parts, Part::train);
  for (const PairRow& row : sampler.draw_balanced({.count = 4000}, RngStream(1)).rows) {
    for (const std::size_t i : {1U, 2U, 3U, 4U}) {
      EXPECT_NE(row.reference, i);
      EXPECT_NE(row.candidate, i);
    }
  }
  const auto available = sampler.available();
  EXPECT_EQ(std::accumulate(available.begin(), available.end(), std::int64_t{0}), 8 * 7);
}

TEST(Pairs, OfAKernelMeasuredTwiceTheLastRowCounts) {
  Store store;
  store.measurements = {measurement("task", "a", 0), measurement("task", "b", 0), measurement("task", "a", 3)};
  const PairDraw draw = sampler_of(store).draw_balanced({.count = 80}, RngStream(1));
  ASSERT_EQ(draw.rows.size(), 2U);
  for (const PairRow& row : draw.rows) EXPECT_NEAR(std::abs(row.log2_speedup), 3, 1e-5);
}

// The task was changed, measured, and changed back; one label is older than the fact.
TEST(Pairs, AreOfTheLastStateOfATaskAlone) {
  Store store;
  store.measurements = {measurement("task", "a", 0), measurement("task", "b", 1), measurement("task", "a", 5),
                        measurement("task", "b", 3), measurement("task", "c", 2)};
  const std::vector<int> states = {1, 0, 2, 2, 1};
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i] > 0) store.measurements[i].facts[kTaskRevision] = states[i];
  }
  const PairDraw draw = sampler_of(store).draw_balanced({.count = 80}, RngStream(1));
  ASSERT_EQ(draw.rows.size(), 6U);
  for (const PairRow& row : draw.rows) EXPECT_LT(std::abs(row.log2_speedup), 2.001);
}

TEST(Pairs, SeedReferenceOnlyLeavesTheOtherKinds) {
  const Store store = examples::spread_store(2, 30);
  const auto rows = sampler_of(store).draw_balanced({.count = 4000, .seed_reference_only = true}, RngStream(1)).rows;
  EXPECT_EQ(rows.size(), 2U * 29U);
  for (const PairRow& row : rows) EXPECT_EQ(row.kind, PairKind::seed);
}

TEST(Pairs, NothingToDrawFromGivesNoRows) {
  const Store store;
  const PairDraw draw = sampler_of(store).draw_balanced({.count = 9}, RngStream(1));
  EXPECT_TRUE(draw.rows.empty());
  EXPECT_EQ(draw.shortfall, (std::array<std::int64_t, kBins>{1, 1, 1, 2, 1, 1, 1, 1}));
}

}  // namespace
}  // namespace kc
