#include "eval/evaluation.h"

#include <chrono>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "forecast/scoring_rules.h"
#include "tests/eval/synthetic.h"

namespace kc {
namespace {

using namespace synthetic;

Evaluation evaluated(const std::vector<EvaluatedRow>& rows, EvaluationOptions options = {}) {
  return evaluate(rows, options, RngStream(1));
}

double value(const Evaluation& evaluation, const std::string& key) { return evaluation.metrics.at(key).value; }

TEST(Evaluation, AgreesWithHandComputedFigures) {
  const Probabilities half = {0, 0, 0, 0.5, 0.5, 0, 0, 0};
  const std::vector<EvaluatedRow> rows = {
      row("a", 4, {parsed(half, 4), parsed(half, 5)}),           // right, off by one
      row("b", 8, {parsed(one_hot(8)), failed()}),               // right, failure
      row("c", 1, {parsed(one_hot(4), 4), parsed(one_hot(1))}),  // off by three, right
  };
  const Evaluation e = evaluated(rows);
  EXPECT_NEAR(value(e, "accuracy"), 3.0 / 6, 1e-12);
  EXPECT_NEAR(value(e, "accuracy_parsed"), 3.0 / 5, 1e-12);
  EXPECT_NEAR(value(e, "off_by_one"), 4.0 / 6, 1e-12);
  EXPECT_NEAR(value(e, "mean_abs_bin_error"), 4.0 / 5, 1e-12);
  EXPECT_NEAR(value(e, "parse_rate"), 5.0 / 6, 1e-12);
  EXPECT_NEAR(value(e, "brier"), (0.25 + 0.25 + 0 + 0.4375 + 1 + 0) / 6, 1e-12);
  EXPECT_NEAR(value(e, "brier_parsed"), 1.5 / 5, 1e-12);
  EXPECT_NEAR(value(e, "crps_parsed"), (0.25 / 7 * 2 + 3.0 / 7) / 5, 1e-12);
  EXPECT_NEAR(value(e, "nll"), (2 * std::log(2) + std::log(8) - std::log(1e-12)) / 6, 1e-9);
  EXPECT_NEAR(value(e, "predicted_not_argmax"), 0, 1e-12) << "5 is one of two equal maxima";
  EXPECT_NEAR(value(e, "mean_confidence"), 4.0 / 5, 1e-12);
  EXPECT_EQ(e.metrics.at("brier").n, 3);
  EXPECT_EQ(e.parse_outcomes.at("ok"), 5);
  EXPECT_EQ(e.parse_outcomes.at("missing_field"), 1);
}

TEST(Evaluation, CountsPredictionsThatAreNotTheArgmax) {
  const Evaluation e = evaluated({row("a", 2, {parsed(one_hot(2), 3)}), row("b", 2, {parsed(one_hot(2), 2)})});
  EXPECT_EQ(value(e, "predicted_not_argmax"), 0.5);
  EXPECT_EQ(value(e, "accuracy"), 0.5);
  EXPECT_EQ(value(e, "accuracy_argmax"), 1);
}

TEST(Evaluation, FailuresOnlyScoreAsTheUniformForecast) {
  const Evaluation e = evaluated({row("a", 4, {failed()}), row("b", 5, {failed(ParseOutcome::no_call)})});
  EXPECT_NEAR(value(e, "brier"), 0.4375, 1e-12);
  EXPECT_EQ(value(e, "accuracy"), 0);
  EXPECT_FALSE(e.metrics.contains("brier_parsed")) << "an undefined figure is left out";
  EXPECT_FALSE(e.metrics.contains("ece"));
}

TEST(Evaluation, EnsembleAveragesTheParsedDistributions) {
  const std::vector<EvaluatedRow> rows = {row("a", 4, {parsed(one_hot(4)), parsed(one_hot(5)), failed()})};
  EvaluationOptions options;
  options.ensemble_mean = true;
  const Evaluation e = evaluated(rows, options);
  EXPECT_NEAR(value(e, "brier"), 0.25, 1e-12);
  EXPECT_EQ(value(e, "parse_rate"), 1);
  EXPECT_EQ(value(e, "accuracy"), 1) << "the lower of two equal bins";
}

TEST(Evaluation, SkillIsAgainstTheBaseRates) {
  const std::vector<EvaluatedRow> data = rows(300, 1, 4, 1, RngStream(3));
  EvaluationOptions options;
  options.base_rates = {0.05, 0.1, 0.15, 0.2, 0.2, 0.15, 0.1, 0.05};
  EXPECT_NEAR(value(evaluated(with_constant_forecast(data, options.base_rates), options), "skill_vs_base_rates"), 0,
              1e-12);
  EXPECT_GT(value(evaluated(data, options), "skill_vs_base_rates"), 0.1);
}

TEST(Evaluation, BootstrapIntervalsHaveTheWidthOfTheirStandardError) {
  const std::vector<EvaluatedRow> data = rows(900, 1, 4, 1, RngStream(4));
  const Metric accuracy = evaluated(data).metrics.at("accuracy");
  const double standard_error = std::sqrt(accuracy.value * (1 - accuracy.value) / 900);
  EXPECT_NEAR(accuracy.high - accuracy.low, 2 * 1.96 * standard_error, 0.15 * 4 * standard_error);
  EXPECT_LT(accuracy.low, accuracy.value);
  EXPECT_GT(accuracy.high, accuracy.value);
}

TEST(Evaluation, EveryIntervalHoldsItsFigure) {
  for (const std::size_t tasks : {1, 6, 25}) {
    const Evaluation e = evaluated(rows(400, 2, tasks, 1.5, RngStream(5)));
    for (const auto& [key, m] : e.metrics) {
      EXPECT_LE(m.low, m.value + 1e-9) << key;
      EXPECT_GE(m.high, m.value - 1e-9) << key;
      EXPECT_EQ(m.low_task.has_value(), m.high_task.has_value()) << key;
    }
    EXPECT_EQ(e.metrics.at("brier").low_task.has_value(), tasks >= 3) << tasks;
    EXPECT_EQ(e.metrics.at("ece").low_task.has_value(), tasks >= 20) << tasks;
  }
}

TEST(Evaluation, TaskIntervalsSeeThatTasksDiffer) {
  // Half the tasks are always right, half always wrong: rows look precise, tasks do not.
  std::vector<EvaluatedRow> data;
  for (int i = 0; i < 600; ++i) {
    data.push_back(row(fmt::format("r{}", i), 4, {parsed(one_hot(i % 6 < 3 ? 4 : 8))}, fmt::format("t{}", i % 6)));
  }
  const Metric m = evaluated(data).metrics.at("accuracy");
  EXPECT_LT(m.high - m.low, 0.1);
  EXPECT_GT(*m.high_task - *m.low_task, 0.8);
}

TEST(Evaluation, IsAFunctionOfItsSeed) {
  const std::vector<EvaluatedRow> data = rows(100, 2, 3, 1, RngStream(6));
  const EvaluationOptions options;
  EXPECT_EQ(to_json(evaluate(data, options, RngStream(7))), to_json(evaluate(data, options, RngStream(7))));
  EXPECT_NE(to_json(evaluate(data, options, RngStream(7))), to_json(evaluate(data, options, RngStream(8))));
}

TEST(Evaluation, JsonHasEveryMetricByItsKey) {
  const nlohmann::json json = to_json(evaluated(rows(50, 1, 3, 1, RngStream(9))));
  for (const char* key : {"accuracy", "brier", "crps", "nll", "ece", "ece_null", "ece_published", "entropy",
                          "auroc_confidence", "spearman_expected_log2"}) {
    ASSERT_TRUE(json.contains(key)) << key;
    for (const char* part : {"value", "low", "high", "n"}) EXPECT_TRUE(json[key][part].is_number()) << key;
  }
  EXPECT_TRUE(json["brier"]["low_task"].is_number());
  EXPECT_EQ(json["rows"], 50);
  EXPECT_EQ(json["parse_outcomes"]["ok"], 50);
  EXPECT_EQ(json["reliability"].size(), 10);
}

TEST(Evaluation, RefusesRowsThatAreNone) {
  EXPECT_THROW(evaluated({}), Error);
  EXPECT_THROW(evaluated({row("a", 3, {})}), Error);
  EvaluatedRow bad = row("a", 3, {failed()});
  bad.truth = 9;
  EXPECT_THROW(evaluated({bad}), Error);
  bad = row("a", 3, {failed()});
  bad.log2_speedup = std::nan("");
  EXPECT_THROW(evaluated({bad}), Error);
}

TEST(Evaluation, OfTheDefaultSizeIsFast) {
  const std::vector<EvaluatedRow> data = rows(1500, 3, 25, 1, RngStream(10));
  const auto begin = std::chrono::steady_clock::now();
  const Evaluation e = evaluated(data);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  RecordProperty("seconds", std::to_string(elapsed.count()));
  EXPECT_GT(e.metrics.size(), 25);
  EXPECT_LT(elapsed.count(), 60) << "far above the target, for slow and instrumented builds";
}

}  // namespace
}  // namespace kc
