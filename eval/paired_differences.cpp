#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "base/error.h"
#include "eval/evaluation.h"
#include "eval/intervals.h"
#include "eval/scored_rows.h"
#include "forecast/scoring_rules.h"

namespace kc {

namespace {

constexpr std::array<const char*, 4> kPairedMetrics = {"brier", "crps", "nll", "accuracy"};

using RowFigures = std::array<std::vector<double>, kPairedMetrics.size()>;

// Per row the mean over its samples, a failure scored as the uniform forecast and as wrong.
RowFigures row_figures(const ScoredRows& rows) {
  RowFigures figures;
  figures.fill(std::vector<double>(rows.rows, 0.0));
  for (const auto& column : rows.by_sample) {
    for (const ScoredSample& s : column) {
      const double share = 1.0 / static_cast<double>(rows.samples_of_row[s.row]);
      const double values[] = {brier_score(s.p, s.truth), crps(s.p, s.truth), nll(s.p, s.truth),
                               s.correct() ? 1.0 : 0.0};
      for (std::size_t m = 0; m < figures.size(); ++m) figures[m][s.row] += share * values[m];
    }
  }
  return figures;
}

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::bad_data,
              fmt::format("two evaluations cannot be compared in pairs: {}; evaluate both on the same rows", what));
}

// The rows of b in a's order.
std::vector<EvaluatedRow> matched(const std::vector<EvaluatedRow>& a, const std::vector<EvaluatedRow>& b) {
  std::unordered_map<std::string, const EvaluatedRow*> by_id;
  for (const EvaluatedRow& row : b) {
    if (!by_id.emplace(row.comparison_id, &row).second) refuse(fmt::format("'{}' occurs twice", row.comparison_id));
  }
  if (a.size() != b.size()) refuse(fmt::format("{} rows against {}", a.size(), b.size()));
  std::vector<EvaluatedRow> result;
  for (const EvaluatedRow& row : a) {
    const auto it = by_id.find(row.comparison_id);
    if (it == by_id.end()) refuse(fmt::format("'{}' is in one only or twice", row.comparison_id));
    if (it->second->truth != row.truth) refuse(fmt::format("'{}' has two true bins", row.comparison_id));
    result.push_back(*it->second);
    by_id.erase(it);
  }
  return result;
}

std::vector<double> task_means(const ScoredRows& rows, const std::vector<double>& values) {
  std::vector<double> sums(rows.tasks.size(), 0.0), counts(rows.tasks.size(), 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums[rows.task_of_row[i]] += values[i];
    counts[rows.task_of_row[i]] += 1;
  }
  for (std::size_t t = 0; t < sums.size(); ++t) sums[t] /= counts[t];
  return sums;
}

Interval bootstrap_mean(const std::vector<double>& values, const Resample& resample, std::int64_t count,
                        RngStream rng) {
  std::vector<double> weights(values.size()), means;
  for (std::int64_t r = 0; r < count; ++r) {
    resample(rng, weights);
    double sum = 0, total = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum += weights[i] * values[i];
      total += weights[i];
    }
    means.push_back(sum / total);
  }
  return means.empty() ? Interval{mean(values), mean(values)} : central_95(std::move(means));
}

PairedDifference difference_of(const ScoredRows& rows, const std::vector<double>& values, std::int64_t bootstraps,
                               const RngStream& rng) {
  PairedDifference result;
  Metric& m = result.difference;
  m.value = mean(values);
  m.n = static_cast<std::int64_t>(rows.rows);
  std::tie(m.low, m.high) = bootstrap_mean(values, resample_rows(rows.rows), bootstraps, rng.child("rows"));
  const std::vector<double> by_task = task_means(rows, values);
  result.tasks = static_cast<std::int64_t>(by_task.size());
  result.sign_flip_p_task = sign_flip_p(by_task, rng.child("signs"));
  std::optional<Interval> interval = t_interval(by_task);
  if (by_task.size() >= kTaskBootstrapFrom) {
    interval =
        bootstrap_mean(values, resample_tasks(rows.task_of_row, rows.tasks.size()), bootstraps, rng.child("tasks"));
  }
  if (interval) {
    m.low_task = interval->first;
    m.high_task = interval->second;
  }
  return result;
}

}  // namespace

std::map<std::string, PairedDifference> paired_differences(const std::vector<EvaluatedRow>& a,
                                                           const std::vector<EvaluatedRow>& b,
                                                           const EvaluationOptions& options, RngStream rng) {
  const ScoredRows rows_a = score_rows(a, options.ensemble_mean);
  const RowFigures figures_a = row_figures(rows_a);
  const RowFigures figures_b = row_figures(score_rows(matched(a, b), options.ensemble_mean));
  std::map<std::string, PairedDifference> result;
  for (std::size_t m = 0; m < kPairedMetrics.size(); ++m) {
    std::vector<double> values = figures_a[m];
    for (std::size_t i = 0; i < values.size(); ++i) values[i] -= figures_b[m][i];
    result[kPairedMetrics[m]] = difference_of(rows_a, values, options.bootstrap_samples, rng.child(kPairedMetrics[m]));
  }
  return result;
}

}  // namespace kc
