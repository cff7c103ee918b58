#include "eval/evaluation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "eval/calibration.h"
#include "eval/intervals.h"
#include "eval/row_metric.h"

namespace kc {

namespace {

// [metric][resample]; resamples where a figure is not defined are left out.
std::vector<std::vector<double>> resampled(const std::vector<RowMetric>& metrics, std::size_t rows,
                                           const Resample& resample, std::int64_t count, RngStream rng) {
  std::vector<std::vector<double>> values(metrics.size());
  std::vector<double> weights(rows);
  for (std::int64_t r = 0; r < count; ++r) {
    resample(rng, weights);
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      if (const std::optional<double> value = metrics[m].value(weights)) values[m].push_back(*value);
    }
  }
  return values;
}

Interval interval_of(const RowMetric& metric, double figure, std::vector<double> values) {
  if (values.empty()) return {figure, figure};
  const double shift = metric.resampling == Resampling::centred ? figure - mean(values) : 0;
  const auto [low, high] = central_95(std::move(values));
  if (metric.resampling == Resampling::percentile) return {low, high};
  return {std::max(0.0, low + shift), high + shift};
}

// Values inside each task where the figure is defined.
std::vector<double> task_values(const RowMetric& metric, const ScoredRows& rows) {
  std::vector<double> values;
  std::vector<double> weights(rows.rows);
  for (std::size_t task = 0; task < rows.tasks.size(); ++task) {
    for (std::size_t i = 0; i < rows.rows; ++i) weights[i] = rows.task_of_row[i] == task ? 1 : 0;
    if (const std::optional<double> value = metric.value(weights)) values.push_back(*value);
  }
  return values;
}

void set_task_interval(Metric& metric, const Interval& interval) {
  metric.low_task = interval.first;
  metric.high_task = interval.second;
}

void add_task_intervals(Evaluation& evaluation, const std::vector<RowMetric>& metrics, const ScoredRows& rows,
                        std::int64_t count, const RngStream& rng) {
  if (rows.tasks.size() >= kTaskBootstrapFrom) {
    const auto values =
        resampled(metrics, rows.rows, resample_tasks(rows.task_of_row, rows.tasks.size()), count, rng.child("tasks"));
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      const auto it = evaluation.metrics.find(metrics[m].key);
      if (it == evaluation.metrics.end()) continue;
      set_task_interval(it->second, interval_of(metrics[m], it->second.value, values[m]));
    }
    return;
  }
  for (const RowMetric& metric : metrics) {
    const auto it = evaluation.metrics.find(metric.key);
    if (it == evaluation.metrics.end() || !metric.by_task) continue;
    if (const auto interval = t_interval(task_values(metric, rows))) set_task_interval(it->second, *interval);
  }
}

std::vector<RowMetric> all_metrics(const ScoredRows& rows, const EvaluationOptions& options) {
  std::vector<RowMetric> metrics = mean_metrics(rows, options);
  for (auto more : {rank_metrics(rows, options), calibration_metrics(rows, options)}) {
    metrics.insert(metrics.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return metrics;
}

std::map<std::string, std::int64_t> count_outcomes(const std::vector<EvaluatedRow>& rows) {
  std::map<std::string, std::int64_t> counts;
  for (const EvaluatedRow& row : rows) {
    for (const ForecastResult& sample : row.samples) {
      const ParseOutcome outcome = sample.parsed ? ParseOutcome::ok : sample.parsed.error().outcome;
      ++counts[std::string(name_of(outcome))];
    }
  }
  return counts;
}

}  // namespace

Evaluation evaluate(const std::vector<EvaluatedRow>& rows, const EvaluationOptions& options, RngStream rng) {
  const ScoredRows scored = score_rows(rows, options.ensemble_mean);
  const std::vector<RowMetric> metrics = all_metrics(scored, options);
  const auto values =
      resampled(metrics, scored.rows, resample_rows(scored.rows), options.bootstrap_samples, rng.child("rows"));
  Evaluation evaluation;
  evaluation.rows = static_cast<std::int64_t>(rows.size());
  const std::vector<double> ones(scored.rows, 1.0);
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    const std::optional<double> figure = metrics[m].value(ones);
    if (!figure) continue;
    Metric metric;
    metric.value = *figure;
    metric.n = metrics[m].n;
    std::tie(metric.low, metric.high) = interval_of(metrics[m], *figure, values[m]);
    evaluation.metrics[metrics[m].key] = metric;
  }
  add_task_intervals(evaluation, metrics, scored, options.bootstrap_samples, rng);
  evaluation.metrics.merge(null_metrics(scored, options, rng.child("null")));
  evaluation.reliability = reliability_buckets(scored, options.ece_buckets);
  evaluation.parse_outcomes = count_outcomes(rows);
  return evaluation;
}

std::vector<EvaluatedRow> with_constant_forecast(const std::vector<EvaluatedRow>& rows, const Probabilities& p) {
  Forecast forecast;
  forecast.p = p;
  forecast.predicted_bin = argmax_bin(p);
  std::vector<EvaluatedRow> result = rows;
  for (EvaluatedRow& row : result) {
    row.samples.assign(1, ForecastResult{});
    row.samples.front().parsed = forecast;
  }
  return result;
}

}  // namespace kc
