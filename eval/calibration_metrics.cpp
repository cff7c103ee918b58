#include <utility>

#include "eval/calibration.h"
#include "eval/intervals.h"
#include "eval/row_metric.h"

namespace kc {

namespace {

struct EceVariant {
  std::string key;
  EceKind kind;
  ConfidenceOf which;
};

const std::vector<EceVariant>& ece_variants() {
  static const std::vector<EceVariant> variants = {
      {"ece", EceKind::equal_width, ConfidenceOf::argmax},
      {"ece_equal_mass", EceKind::equal_mass, ConfidenceOf::argmax},
      {"ece_debiased", EceKind::debiased, ConfidenceOf::argmax},
      {"ece_published", EceKind::equal_width, ConfidenceOf::predicted},
  };
  return variants;
}

RowMetric ece_metric(const ScoredRows& rows, const EceVariant& variant, std::int64_t buckets) {
  std::vector<ConfidenceItems> columns;
  for (const auto& column : rows.by_sample) {
    ConfidenceItems items = confidence_items(column, variant.which);
    if (items.size() > 0) columns.push_back(std::move(items));
  }
  RowMetric metric;
  metric.key = variant.key;
  metric.n = parsed_rows(rows);
  metric.resampling = Resampling::centred;
  metric.by_task = false;
  metric.value = [columns = std::move(columns), kind = variant.kind,
                  buckets](std::span<const double> weights) -> std::optional<double> {
    if (columns.empty()) return std::nullopt;
    double sum = 0;
    for (const ConfidenceItems& items : columns) sum += items.ece(kind, buckets, weights);
    return sum / static_cast<double>(columns.size());
  };
  return metric;
}

RowMetric term_metric(const ScoredRows& rows, const std::string& key, double BrierTerms::* term, std::int64_t buckets) {
  RowMetric metric;
  metric.key = key;
  metric.n = static_cast<std::int64_t>(rows.rows);
  metric.resampling = Resampling::centred;
  metric.by_task = false;
  metric.value = [columns = rows.by_sample, term, buckets](std::span<const double> weights) -> std::optional<double> {
    double sum = 0;
    for (const auto& column : columns) sum += brier_terms(column, buckets, weights).*term;
    return sum / static_cast<double>(columns.size());
  };
  return metric;
}

}  // namespace

std::vector<RowMetric> calibration_metrics(const ScoredRows& rows, const EvaluationOptions& options) {
  std::vector<RowMetric> metrics;
  for (const EceVariant& variant : ece_variants()) metrics.push_back(ece_metric(rows, variant, options.ece_buckets));
  metrics.push_back(term_metric(rows, "brier_reliability", &BrierTerms::reliability, options.ece_buckets));
  metrics.push_back(term_metric(rows, "brier_resolution", &BrierTerms::resolution, options.ece_buckets));
  metrics.push_back(term_metric(rows, "brier_uncertainty", &BrierTerms::uncertainty, options.ece_buckets));
  return metrics;
}

std::map<std::string, Metric> null_metrics(const ScoredRows& rows, const EvaluationOptions& options, RngStream rng) {
  constexpr int kSimulations = 400;
  std::map<std::string, Metric> result;
  for (const EceVariant& variant : ece_variants()) {
    const ConfidenceItems items = confidence_items(rows.by_sample.front(), variant.which);
    if (items.size() == 0) continue;
    std::vector<double> values =
        items.calibrated_eces(variant.kind, options.ece_buckets, kSimulations, rng.child(variant.key));
    Metric metric;
    metric.value = mean(values);
    std::tie(metric.low, metric.high) = central_95(std::move(values));
    metric.n = static_cast<std::int64_t>(items.size());
    result[variant.key + "_null"] = metric;
  }
  return result;
}

}  // namespace kc
