// How a ForecastReport is shown, to people and to programs.
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/table.h"
#include "pipeline/forecasting.h"

namespace kc {

namespace {

constexpr int kBarWidth = 24;

std::string measured_text(const CandidateForecast& entry) {
  if (entry.measured_speedup)
    return fmt::format("{:.2f}x, {}", *entry.measured_speedup, bin_name(bin_of(*entry.measured_speedup)));
  return entry.measured_status;
}

std::string bars(const CandidateForecast& entry) {
  std::string text;
  for (Bin bin = 1; bin <= kBins; ++bin) {
    const double p = entry.forecast.p[static_cast<std::size_t>(bin - 1)];
    text += fmt::format("  {:<21} {:>5.1f} %  {}\n", bin_name(bin), 100 * p, bar(p, kBarWidth));
  }
  return text;
}

// What a user can do about an answer that is no forecast.
std::string_view hint(std::string_view failure) {
  return failure == "truncated"
             ? ": prompt.max_new_tokens ended the answer; a model that was not trained for it is read "
               "by --reading direct"
             : "";
}

}  // namespace

std::string forecast_table(const ForecastReport& report) {
  std::string text;
  for (const CandidateForecast& entry : report.ranked) {
    text += entry.failure.empty()
                ? fmt::format("{}\n{}\n", entry.name, bars(entry))
                : fmt::format("{}\n  no forecast: {}{}\n\n", entry.name, entry.failure, hint(entry.failure));
  }
  Table table({"rank", "candidate", "expected speedup", "confidence", "advice", "measured"});
  for (std::size_t i = 0; i < report.ranked.size(); ++i) {
    const CandidateForecast& entry = report.ranked[i];
    const bool failed = !entry.failure.empty();
    table.add_row({std::to_string(i + 1), entry.name,
                   failed ? entry.failure : fmt::format("{:.2f}x", entry.expected_speedup),
                   failed ? "" : fmt::format("{:.2f}", entry.confidence),
                   entry.advice == Advice::trust ? "trust" : "measure", measured_text(entry)});
  }
  return text + table.render();
}

namespace {

nlohmann::json to_json(const CandidateForecast& entry) {
  nlohmann::json item = {{"candidate", entry.name}, {"advice", entry.advice == Advice::trust ? "trust" : "measure"}};
  if (entry.failure.empty()) {
    item["bin_probabilities"] = entry.forecast.p;
    item["predicted_bin"] = entry.forecast.predicted_bin;
    item["expected_speedup"] = entry.expected_speedup;
    item["confidence"] = entry.confidence;
    if (!entry.forecast.reasoning.empty()) item["reasoning"] = entry.forecast.reasoning;
  } else {
    item["failure"] = entry.failure;
  }
  if (entry.measured_speedup) item["measured_speedup"] = *entry.measured_speedup;
  if (!entry.measured_status.empty()) item["measured_status"] = entry.measured_status;
  return item;
}

}  // namespace

nlohmann::json to_json(const ForecastReport& report) {
  nlohmann::json json = {{"warnings", report.warnings}, {"candidates", nlohmann::json::array()}};
  for (const CandidateForecast& entry : report.ranked) json["candidates"].push_back(to_json(entry));
  return json;
}

}  // namespace kc
