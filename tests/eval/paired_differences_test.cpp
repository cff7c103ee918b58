#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/eval/synthetic.h"

namespace kc {
namespace {

using namespace synthetic;

TEST(PairedDifferences, AreTheDifferenceOfTheFigures) {
  const auto a = rows(300, 2, 6, 1, RngStream(1));
  const auto b = with_constant_forecast(a, uniform_probabilities());
  const EvaluationOptions options;
  const auto differences = paired_differences(a, b, options, RngStream(2));
  const Evaluation ea = evaluate(a, options, RngStream(3)), eb = evaluate(b, options, RngStream(3));
  for (const char* key : {"brier", "crps", "nll", "accuracy"}) {
    const Metric& d = differences.at(key).difference;
    EXPECT_NEAR(d.value, ea.metrics.at(key).value - eb.metrics.at(key).value, 1e-12) << key;
    EXPECT_LT(d.low, d.value);
    EXPECT_GT(d.high, d.value);
    EXPECT_EQ(differences.at(key).tasks, 6);
  }
  EXPECT_NEAR(differences.at("brier").sign_flip_p_task, 2.0 / 64, 1e-12) << "better in all six tasks";
}

TEST(PairedDifferences, DoNotDependOnTheOrderOfRows) {
  const auto a = rows(60, 1, 3, 1, RngStream(1));
  auto b = with_constant_forecast(a, uniform_probabilities());
  const auto before = to_json(paired_differences(a, b, {}, RngStream(2)));
  std::reverse(b.begin(), b.end());
  EXPECT_EQ(to_json(paired_differences(a, b, {}, RngStream(2))), before);
}

TEST(PairedDifferences, PairingNarrowsTheInterval) {
  const auto a = rows(400, 1, 6, 1, RngStream(4));
  const auto b = rows(400, 1, 6, 1.1, RngStream(4));
  const Metric paired = paired_differences(a, b, {}, RngStream(2)).at("brier").difference;
  const Metric alone = evaluate(a, {}, RngStream(5)).metrics.at("brier");
  EXPECT_LT(paired.high - paired.low, 0.5 * (alone.high - alone.low));
}

TEST(PairedDifferences, UseATaskBootstrapFromTwentyTasks) {
  const auto a = rows(400, 1, 25, 1, RngStream(6));
  const auto b = with_constant_forecast(a, uniform_probabilities());
  const Metric d = paired_differences(a, b, {}, RngStream(2)).at("brier").difference;
  ASSERT_TRUE(d.low_task);
  EXPECT_LT(*d.low_task, d.value);
  EXPECT_GT(*d.high_task, d.value);
}

TEST(PairedDifferences, RefuseDifferentRows) {
  const auto a = rows(10, 1, 2, 1, RngStream(1));
  auto fewer = a;
  fewer.pop_back();
  auto other = a;
  other[3].comparison_id = "another";
  auto twice = a;
  twice[3].comparison_id = twice[4].comparison_id;
  auto truth = a;
  truth[3].truth = truth[3].truth % kBins + 1;
  for (const auto& b : {fewer, other, twice, truth}) EXPECT_THROW(paired_differences(a, b, {}, RngStream(2)), Error);
}

}  // namespace
}  // namespace kc
