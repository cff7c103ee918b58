#include "eval/calibration.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "eval/intervals.h"
#include "forecast/scoring_rules.h"
#include "tests/eval/synthetic.h"

namespace kc {
namespace {

using namespace synthetic;

ConfidenceItems items_of(const std::vector<std::pair<double, bool>>& list) {
  ConfidenceItems items;
  for (std::size_t i = 0; i < list.size(); ++i) items.add(i, list[i].first, list[i].second);
  items.sort();
  return items;
}

TEST(Ece, AgreesWithHandComputedBuckets) {
  const ConfidenceItems items = items_of({{0.15, true}, {0.18, false}, {0.95, true}, {1.0, true}});
  const std::vector<double> ones(4, 1.0);
  // Buckets [.1, .2): |.33 - 1|; [.9, 1]: |1.95 - 2|; over 4 items.
  EXPECT_NEAR(items.ece(EceKind::equal_width, 10, ones), (0.67 + 0.05) / 4, 1e-12);
  EXPECT_NEAR(items.ece(EceKind::equal_mass, 2, ones), (0.67 + 0.05) / 4, 1e-12);
  EXPECT_NEAR(items.ece(EceKind::equal_mass, 4, ones), (0.85 + 0.18 + 0.05 + 0) / 4, 1e-12);
}

TEST(Ece, WeightsStandForRepeatedItems) {
  const ConfidenceItems weighted = items_of({{0.3, true}, {0.7, false}, {0.9, true}});
  const ConfidenceItems repeated = items_of({{0.3, true}, {0.3, true}, {0.9, true}, {0.9, true}, {0.9, true}});
  const std::vector<double> weights = {2, 0, 3}, ones(5, 1.0);
  EXPECT_NEAR(weighted.ece(EceKind::equal_width, 10, weights), repeated.ece(EceKind::equal_width, 10, ones), 1e-12);
  EXPECT_NEAR(weighted.ece(EceKind::debiased, 1, weights), repeated.ece(EceKind::debiased, 1, ones), 1e-12);
}

TEST(Ece, OfACalibratedForecasterLiesWithinItsNullBand) {
  // Over many calibrated forecasters, about 5 % leave the central 95 % band; each variant has a band of its own.
  int outside = 0, checks = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    EvaluationOptions options;
    options.bootstrap_samples = 10;
    const Evaluation e = evaluate(rows(424, 1, 4, 1, RngStream(seed)), options, RngStream(seed + 1000));
    for (const std::string key : {"ece", "ece_equal_mass", "ece_published"}) {
      const Metric& null = e.metrics.at(key + "_null");
      const double figure = e.metrics.at(key).value;
      EXPECT_GT(null.value, 0.01) << "with 424 rows even a calibrated forecaster shows some error";
      outside += figure < null.low || figure > null.high ? 1 : 0;
      ++checks;
    }
  }
  EXPECT_LT(outside, checks * 0.15);
}

TEST(Ece, OfAnOverconfidentForecasterExceedsItsNullBand) {
  const Evaluation e = evaluate(rows(1000, 1, 4, 3, RngStream(2)), {}, RngStream(3));
  for (const std::string key : {"ece", "ece_equal_mass", "ece_debiased", "ece_published"}) {
    EXPECT_GT(e.metrics.at(key).low, e.metrics.at(key + "_null").high) << key;
  }
}

TEST(Ece, DebiasingBringsCalibratedForecastersNearZero) {
  double plain = 0, debiased = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto scored = score_rows(rows(400, 1, 1, 1, RngStream(seed)), false);
    const ConfidenceItems items = confidence_items(scored.by_sample[0], ConfidenceOf::argmax);
    const std::vector<double> ones(400, 1.0);
    plain += items.ece(EceKind::equal_mass, 10, ones) / 40;
    debiased += items.ece(EceKind::debiased, 10, ones) / 40;
  }
  EXPECT_LT(debiased, 0.7 * plain);
}

TEST(Ece, PublishedConventionUsesThePredictedBin) {
  // Confidence .6 on bin 4, but bin 5 (.4) is predicted and right.
  const Probabilities p = {0, 0, 0, 0.6, 0.4, 0, 0, 0};
  const Evaluation e = evaluate({row("a", 5, {parsed(p, 5)})}, {}, RngStream(1));
  EXPECT_NEAR(e.metrics.at("ece").value, 0.6, 1e-12);
  EXPECT_NEAR(e.metrics.at("ece_published").value, 0.6, 1e-12);
  const Evaluation f = evaluate({row("a", 4, {parsed(p, 5)})}, {}, RngStream(1));
  EXPECT_NEAR(f.metrics.at("ece").value, 0.4, 1e-12);
  EXPECT_NEAR(f.metrics.at("ece_published").value, 0.4, 1e-12);
}

TEST(BrierTerms, AddUpWhenForecastsRepeatTheirValues) {
  // Two distinct forecasts, so that buckets have no spread inside.
  const Probabilities a = {0.72, 0.28, 0, 0, 0, 0, 0, 0}, b = {0, 0.15, 0.85, 0, 0, 0, 0, 0};
  RngStream rng(4);
  std::vector<EvaluatedRow> data;
  for (int i = 0; i < 200; ++i) {
    const Bin truth = static_cast<Bin>(1 + rng.below(3));
    data.push_back(row(std::to_string(i), truth, {parsed(i % 2 == 0 ? a : b)}));
  }
  const Evaluation e = evaluate(data, {}, RngStream(1));
  EXPECT_NEAR(e.metrics.at("brier_reliability").value - e.metrics.at("brier_resolution").value +
                  e.metrics.at("brier_uncertainty").value,
              e.metrics.at("brier").value, 1e-9);
}

TEST(Reliability, BucketsCountAllParsedSamplesAndHoldTheirShare) {
  const Evaluation e = evaluate(rows(500, 3, 2, 1, RngStream(5)), {}, RngStream(1));
  std::int64_t total = 0;
  for (const ReliabilityBucket& b : e.reliability) {
    total += b.count;
    if (b.count == 0) continue;
    EXPECT_GE(b.mean_confidence, b.low);
    EXPECT_LE(b.mean_confidence, b.high);
    EXPECT_LE(b.accuracy_low, b.accuracy);
    EXPECT_GE(b.accuracy_high, b.accuracy);
  }
  EXPECT_EQ(total, 1500);
}

TEST(Reliability, RepeatedSamplesDoNotNarrowTheInterval) {
  const Evaluation once = evaluate(rows(300, 1, 2, 1, RngStream(5)), {}, RngStream(1));
  const Evaluation thrice = evaluate(rows(300, 3, 2, 1, RngStream(5)), {}, RngStream(1));
  for (std::size_t k = 0; k < once.reliability.size(); ++k) {
    EXPECT_NEAR(once.reliability[k].accuracy_low, thrice.reliability[k].accuracy_low, 1e-9);
  }
}

}  // namespace
}  // namespace kc
