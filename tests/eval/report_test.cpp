#include "eval/report.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/json.h"
#include "tests/eval/synthetic.h"

namespace kc {
namespace {

using namespace synthetic;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

std::filesystem::path temporary(const std::string& name) {
  return std::filesystem::path(::testing::TempDir()) / ("kc_report_" + name);
}

TEST(EvaluationTable, ShowsEveryMetricWithItsInterval) {
  const Evaluation e = evaluate(rows(100, 2, 3, 1, RngStream(1)), {}, RngStream(2));
  const std::string table = evaluation_table({{"model", &e}, {"again", &e}});
  for (const auto& [key, metric] : e.metrics) EXPECT_THAT(table, HasSubstr(key + " "));
  EXPECT_THAT(table, ContainsRegex("brier +[0-9.]+ \\[[0-9.]+, [0-9.]+\\] +[0-9.]+ \\["));
  EXPECT_THAT(table, HasSubstr("again"));
}

TEST(EvaluationTable, LeavesGapsForUndefinedFigures) {
  const Evaluation some = evaluate(rows(50, 1, 1, 1, RngStream(1)), {}, RngStream(2));
  const Evaluation none = evaluate({row("a", 1, {failed()})}, {}, RngStream(2));
  EXPECT_THAT(evaluation_table({{"a", &some}, {"b", &none}}), ContainsRegex("brier_parsed +[^\n]*-"));
}

TEST(DifferencesTable, ShowsTheTaskTest) {
  const auto a = rows(60, 1, 6, 1, RngStream(1));
  const auto d = paired_differences(a, with_constant_forecast(a, uniform_probabilities()), {}, RngStream(2));
  const std::string table = differences_table(d, "model - uniform");
  EXPECT_THAT(table, HasSubstr("model - uniform"));
  EXPECT_THAT(table, HasSubstr("0.031"));
}

TEST(Predictions, AreOneLinePerRowAndSampleInThePublishedFormat) {
  ForecastResult broken = parsed(one_hot(3));
  broken.parsed->reasoning = "bad \xff bytes";
  broken.output_tokens = 10;
  const auto file = temporary("predictions.jsonl");
  write_predictions(file, {row("a", 3, {parsed(one_hot(3)), failed()}), row("b", 4, {broken})}, "label");
  std::vector<nlohmann::json> lines;
  for_each_json_line(file, [&](const nlohmann::json& line, std::size_t) { lines.push_back(line); });
  ASSERT_EQ(lines.size(), 3);
  for (const char* key :
       {"comparison_id", "pack", "surrogate_label", "repeat", "predicted_bin", "bin_probabilities", "reasoning",
        "raw_probability_sum", "parse_failed", "parse_error", "input_tokens", "output_tokens", "elapsed_s"}) {
    for (const auto& line : lines) EXPECT_TRUE(line.contains(key)) << key;
  }
  EXPECT_EQ(lines[0]["bin_probabilities"][2], (nlohmann::json{{"bin", 3}, {"p", 1.0}}));
  EXPECT_EQ(lines[1]["repeat"], 1);
  EXPECT_TRUE(lines[1]["parse_failed"]);
  EXPECT_EQ(lines[1]["parse_error"], "missing_field: detail");
  EXPECT_EQ(lines[2]["output_tokens"], 10);
}

TEST(ReliabilitySvg, IsSelfContainedAndEscapesItsTitle) {
  const Evaluation e = evaluate(rows(300, 1, 3, 1, RngStream(1)), {}, RngStream(2));
  const auto file = temporary("reliability.svg");
  write_reliability_svg(file, e, "a < b & c");
  const std::string svg = read_file(file);
  EXPECT_THAT(svg, ::testing::StartsWith("<svg xmlns"));
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; c"));
  EXPECT_THAT(svg, HasSubstr("class=\"diagonal\""));
  EXPECT_THAT(svg, ::testing::Not(HasSubstr("href")));
  std::size_t bars = 0, filled = 0;
  for (std::size_t at = svg.find("class=\"bar\""); at != std::string::npos; at = svg.find("class=\"bar\"", at + 1))
    ++bars;
  for (const ReliabilityBucket& b : e.reliability) filled += b.count > 0 ? 1 : 0;
  EXPECT_EQ(bars, filled);
}

TEST(ReliabilitySvg, IsDrawnWithoutAnyParsedForecast) {
  const auto file = temporary("empty.svg");
  write_reliability_svg(file, evaluate({row("a", 1, {failed()})}, {}, RngStream(2)), "none");
  EXPECT_THAT(read_file(file), HasSubstr("no parsed forecast"));
}

}  // namespace
}  // namespace kc
