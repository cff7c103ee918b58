#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "dataset/pairs.h"
#include "tests/dataset/examples.h"

namespace kc {
namespace {

using examples::measurement;

Store two(double a, double b) {
  Store store;
  store.measurements = {measurement("task", "int a();", a), measurement("task", "int b();", b)};
  return store;
}

PairRow pair_01(double log2_speedup) { return {0, 1, PairKind::pair, log2_speedup, bin_of(std::exp2(log2_speedup))}; }

TEST(BaseRates, AreTheSharesOfTheBins) {
  std::vector<PairRow> rows(4);
  rows[0].bin = 1;
  rows[1].bin = 8;
  rows[2].bin = 8;
  rows[3].bin = 5;
  EXPECT_EQ(base_rates(rows), (Probabilities{.25, 0, 0, 0, .25, 0, 0, .5}));
  EXPECT_THROW(base_rates({}), Error);
}

TEST(SoftLabel, IsOneHotFarFromAnEdge) {
  const Store store = two(0, 0.75);
  EXPECT_NEAR(soft_label(store, pair_01(0.75), 50, RngStream(1))[5], 1, 1e-12);
}

TEST(SoftLabel, SpreadsWhereTheRoundsStraddleAnEdge) {
  Store store = two(0, 0);
  for (CaseTiming& timing : store.measurements[1].cases) {
    for (std::size_t r = 0; r < timing.candidate_ns.size(); ++r) {
      timing.candidate_ns[r] = timing.reference_ns[r] * (r % 2 == 0 ? 0.95F : 1.05F);
    }
  }
  const Probabilities label = soft_label(store, pair_01(0.07), 400, RngStream(1));
  EXPECT_GT(label[3], 0.05);  // just below 1
  EXPECT_GT(label[4], 0.3);   // just above: three rounds of five
  EXPECT_NEAR(std::accumulate(label.begin(), label.end(), 0.0), 1, 1e-12);
  EXPECT_EQ(label, soft_label(store, pair_01(0.07), 400, RngStream(1)));
}

TEST(SoftLabel, ResamplesTimesWithoutAReferenceSide) {
  Store store = two(0, 0);
  store.measurements[0].cases = {{"only", 1, {100, 100, 100}, {}}};
  store.measurements[1].cases = {{"only", 1, {90, 110, 90}, {}}};
  const Probabilities label = soft_label(store, pair_01(0.15), 200, RngStream(1));
  EXPECT_GT(label[3], 0);
  EXPECT_GT(label[4], label[3]);
}

TEST(PromptRequest, TakesTextsTaskAndHardwareOfThePair) {
  Store store = two(0, 1);
  const auto table = std::filesystem::path(KC_SOURCE_DIR) / "configs/hardware.yaml";
  if (!std::filesystem::exists(table)) GTEST_SKIP() << "configs/hardware.yaml is missing";
  const HardwareTable hardware = HardwareTable::load(table);
  store.measurements[0].provenance.device = store.measurements[1].provenance.device = "NVIDIA GeForce RTX 3090";
  const PromptRequest request = prompt_request(store, pair_01(1), hardware);
  EXPECT_EQ(request.task, "task");
  EXPECT_EQ(request.reference.source, "int a();");
  EXPECT_EQ(request.candidate.source, "int b();");
  EXPECT_EQ(request.hardware.device, hardware.find("NVIDIA GeForce RTX 3090").device);
  store.measurements[1].provenance.device = "no such device";
  EXPECT_THROW(prompt_request(store, pair_01(1), hardware), Error);
}

TEST(ComparisonId, NamesThePairAndItsDirection) {
  const Store store = two(0, 1);
  const std::string there = comparison_id(store, pair_01(1));
  PairRow back = pair_01(-1);
  std::swap(back.reference, back.candidate);
  EXPECT_NE(there, comparison_id(store, back));
  EXPECT_EQ(there, comparison_id(two(5, 5), pair_01(0)));
}

}  // namespace
}  // namespace kc
