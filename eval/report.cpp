#include "eval/report.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/table.h"

namespace kc {

namespace {

// Order of the table's rows; an empty name is a rule.
constexpr auto kOrder = std::to_array<const char*>({"brier",
                                                    "crps",
                                                    "nll",
                                                    "accuracy",
                                                    "accuracy_argmax",
                                                    "off_by_one",
                                                    "mean_abs_bin_error",
                                                    "spearman_expected_log2",
                                                    "skill_vs_base_rates",
                                                    "",
                                                    "ece",
                                                    "ece_null",
                                                    "ece_equal_mass",
                                                    "ece_equal_mass_null",
                                                    "ece_debiased",
                                                    "ece_debiased_null",
                                                    "brier_reliability",
                                                    "brier_resolution",
                                                    "brier_uncertainty",
                                                    "mean_confidence",
                                                    "entropy",
                                                    "",
                                                    "spearman_confidence_abs_error",
                                                    "auroc_confidence",
                                                    "",
                                                    "parse_rate",
                                                    "predicted_not_argmax",
                                                    "mean_raw_sum",
                                                    "outside_mass",
                                                    "",
                                                    "accuracy_parsed",
                                                    "brier_parsed",
                                                    "crps_parsed",
                                                    "nll_parsed",
                                                    "ece_published",
                                                    "ece_published_null"});

using Columns = std::vector<std::pair<std::string, const Evaluation*>>;

std::string cell(const Metric& m) { return fmt::format("{:.3f} [{:.3f}, {:.3f}]", m.value, m.low, m.high); }

std::string task_cell(const Metric& m) {
  return m.low_task && m.high_task ? fmt::format("[{:.3f}, {:.3f}]", *m.low_task, *m.high_task) : "-";
}

void add_metric_row(Table& table, const Columns& columns, const std::string& key) {
  std::vector<std::string> cells = {key};
  bool any = false;
  for (const auto& [name, evaluation] : columns) {
    const auto it = evaluation->metrics.find(key);
    any = any || it != evaluation->metrics.end();
    cells.push_back(it == evaluation->metrics.end() ? "-" : cell(it->second));
  }
  if (any) table.add_row(cells);
}

nlohmann::json prediction_json(const EvaluatedRow& row, std::size_t repeat, const std::string& label) {
  const ForecastResult& sample = row.samples[repeat];
  nlohmann::json line = {{"comparison_id", row.comparison_id},
                         {"pack", row.task},
                         {"hardware", row.device},
                         {"true_bin", row.truth},
                         {"log2_speedup", row.log2_speedup},
                         {"surrogate_label", label},
                         {"repeat", repeat},
                         {"predicted_bin", nullptr},
                         {"bin_probabilities", nlohmann::json::array()},
                         {"reasoning", ""},
                         {"raw_probability_sum", nullptr},
                         {"parse_failed", !sample.parsed.has_value()},
                         {"parse_error", nullptr},
                         {"input_tokens", sample.input_tokens},
                         {"output_tokens", sample.output_tokens},
                         {"elapsed_s", sample.elapsed_s},
                         {"outside_mass", sample.outside_mass}};
  if (!sample.parsed) {
    const ParseFailure& failure = sample.parsed.error();
    line["parse_error"] = fmt::format("{}: {}", name_of(failure.outcome), failure.detail);
    return line;
  }
  line["predicted_bin"] = sample.parsed->predicted_bin;
  line["reasoning"] = sample.parsed->reasoning;
  line["raw_probability_sum"] = sample.parsed->raw_sum;
  for (Bin b = 1; b <= kBins; ++b) {
    line["bin_probabilities"].push_back({{"bin", b}, {"p", sample.parsed->p[b - 1]}});
  }
  return line;
}

}  // namespace

std::string evaluation_table(const Columns& columns) {
  std::vector<std::string> header = {"figure"};
  for (const auto& [name, evaluation] : columns) header.push_back(name);
  Table table(header);
  for (const char* key : kOrder) {
    if (*key == '\0') {
      table.add_rule();
    } else {
      add_metric_row(table, columns, key);
    }
  }
  return table.render();
}

std::string differences_table(const std::map<std::string, PairedDifference>& differences, const std::string& title) {
  Table table({title, "difference [rows]", "[tasks]", "p by task", "tasks"});
  for (const auto& [key, d] : differences) {
    table.add_row({key, cell(d.difference), task_cell(d.difference), fmt::format("{:.3f}", d.sign_flip_p_task),
                   fmt::format("{}", d.tasks)});
  }
  return table.render();
}

void write_predictions(const std::filesystem::path& file, const std::vector<EvaluatedRow>& rows,
                       const std::string& surrogate_label) {
  std::string text;
  for (const EvaluatedRow& row : rows) {
    for (std::size_t repeat = 0; repeat < row.samples.size(); ++repeat) {
      // Reasoning is a model's text and may hold broken UTF-8.
      text +=
          prediction_json(row, repeat, surrogate_label).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
      text += '\n';
    }
  }
  write_file_atomically(file, text);
}

}  // namespace kc
