#pragma once
// The figures of docs/evaluation.md ("Evaluation") for rows with forecasts, each with its intervals.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/rng.h"
#include "forecast/forecaster.h"

namespace kc {

// One row of an evaluation with every sample drawn for it (one for `direct` and for baselines).
struct EvaluatedRow {
  std::string comparison_id;
  std::string task;
  std::string device;
  Bin truth = 0;
  double log2_speedup = 0;
  std::vector<ForecastResult> samples;
};

struct Metric {
  double value = 0;
  double low = 0, high = 0;                   // 95 % row bootstrap
  std::optional<double> low_task, high_task;  // by task: bootstrap from 20 tasks on, t-interval of task means from 3 on
  std::int64_t n = 0;                         // rows that entered
};

struct EvaluationOptions {
  BinValues bin_values = default_bin_values();
  Probabilities base_rates = uniform_probabilities();
  std::int64_t bootstrap_samples = 1000;
  std::int64_t ece_buckets = 10;
  bool ensemble_mean = false;  // average the parsed distributions of a row
};

struct ReliabilityBucket {
  double low = 0, high = 0, mean_confidence = 0, accuracy = 0, accuracy_low = 0, accuracy_high = 0;
  std::int64_t count = 0;
};

struct Evaluation {
  std::map<std::string, Metric> metrics;  // keys: docs/evaluation.md
  std::vector<ReliabilityBucket> reliability;
  std::map<std::string, std::int64_t> parse_outcomes;
  std::int64_t rows = 0;
};

Evaluation evaluate(const std::vector<EvaluatedRow>& rows, const EvaluationOptions& options, RngStream rng);

// Forecasts that need no model, on the same rows.
std::vector<EvaluatedRow> with_constant_forecast(const std::vector<EvaluatedRow>& rows, const Probabilities& p);

// a - b on the same rows (matched by comparison_id; Error{bad_data} when they differ), metrics brier, crps, nll,
// accuracy.
struct PairedDifference {
  Metric difference;
  double sign_flip_p_task = 1;  // two-sided exact sign-flip test over task means
  std::int64_t tasks = 0;
};
std::map<std::string, PairedDifference> paired_differences(const std::vector<EvaluatedRow>& a,
                                                           const std::vector<EvaluatedRow>& b,
                                                           const EvaluationOptions& options, RngStream rng);

nlohmann::json to_json(const Evaluation& evaluation);
nlohmann::json to_json(const std::map<std::string, PairedDifference>& differences);

}  // namespace kc
