#pragma once
// A figure as a function of row weights, so that one piece of code gives its value, its bootstrap and its by-task
// values.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eval/scored_rows.h"

namespace kc {

// Interval of a figure under resampling.
enum class Resampling {
  percentile,  // quantiles of the resampled values
  centred,     // the same, shifted by their mean excess over the figure: resampling inflates calibration errors
};

struct RowMetric {
  std::string key;
  // Weights by row, all >= 0; none where the figure is not defined (an AUROC without errors).
  std::function<std::optional<double>(std::span<const double> weights)> value;
  std::int64_t n = 0;  // rows that enter
  Resampling resampling = Resampling::percentile;
  bool by_task = true;  // has a meaning inside one task; calibration errors of few rows have not
};

// Means and ratios of means over rows: accuracy, off_by_one, parse_rate, brier, crps, nll, ...
std::vector<RowMetric> mean_metrics(const ScoredRows& rows, const EvaluationOptions& options);

// spearman_expected_log2, spearman_confidence_abs_error, auroc_confidence.
std::vector<RowMetric> rank_metrics(const ScoredRows& rows, const EvaluationOptions& options);

// ece, ece_equal_mass, ece_debiased, ece_published, brier_reliability, brier_resolution, brier_uncertainty.
std::vector<RowMetric> calibration_metrics(const ScoredRows& rows, const EvaluationOptions& options);

// The *_null figures beside them: mean over simulations, and as interval the central 95 % of them. Simulated on the
// first sample of each row.
std::map<std::string, Metric> null_metrics(const ScoredRows& rows, const EvaluationOptions& options, RngStream rng);

// Rows with at least one parsed sample.
std::int64_t parsed_rows(const ScoredRows& rows);

}  // namespace kc
