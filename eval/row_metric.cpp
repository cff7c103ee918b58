#include "eval/row_metric.h"

#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

#include "eval/weighted_ranks.h"
#include "forecast/scoring_rules.h"

namespace kc {

namespace {

using SampleFigure = std::function<double(const ScoredSample&)>;

enum class Over { all, parsed };

// Per row the mean over its samples of a figure, and of the share of samples that count.
struct RowSums {
  std::vector<double> figure, share;
};

RowSums row_sums(const ScoredRows& rows, Over over, const SampleFigure& figure) {
  RowSums sums{std::vector<double>(rows.rows, 0.0), std::vector<double>(rows.rows, 0.0)};
  for (const auto& column : rows.by_sample) {
    for (const ScoredSample& s : column) {
      if (over == Over::parsed && !s.parsed) continue;
      const double share = 1.0 / static_cast<double>(rows.samples_of_row[s.row]);
      sums.figure[s.row] += share * figure(s);
      sums.share[s.row] += share;
    }
  }
  return sums;
}

std::optional<double> ratio(std::span<const double> weights, const std::vector<double>& a,
                            const std::vector<double>& b) {
  double numerator = 0, denominator = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    numerator += weights[i] * a[i];
    denominator += weights[i] * b[i];
  }
  if (denominator <= 0) return std::nullopt;
  return numerator / denominator;
}

RowMetric mean_metric(const ScoredRows& rows, const std::string& key, Over over, const SampleFigure& figure) {
  RowMetric metric;
  metric.key = key;
  metric.n = over == Over::all ? static_cast<std::int64_t>(rows.rows) : parsed_rows(rows);
  metric.value = [sums = row_sums(rows, over, figure)](std::span<const double> weights) {
    return ratio(weights, sums.figure, sums.share);
  };
  return metric;
}

RowMetric skill_metric(const ScoredRows& rows, const Probabilities& base_rates) {
  const RowSums own = row_sums(rows, Over::all, [](const ScoredSample& s) { return brier_score(s.p, s.truth); });
  const RowSums base =
      row_sums(rows, Over::all, [&](const ScoredSample& s) { return brier_score(base_rates, s.truth); });
  RowMetric metric;
  metric.key = "skill_vs_base_rates";
  metric.n = static_cast<std::int64_t>(rows.rows);
  metric.value = [own, base](std::span<const double> weights) -> std::optional<double> {
    const std::optional<double> relative = ratio(weights, own.figure, base.figure);
    if (!relative) return std::nullopt;
    return 1 - *relative;
  };
  return metric;
}

double absolute_bin_error(const ScoredSample& s) { return std::abs(s.predicted - s.truth); }

// The mean over sample indices of a rank figure of the parsed samples.
template <class Ranks>
RowMetric mean_over_samples(const std::string& key, std::vector<Ranks> ranks, std::int64_t n) {
  RowMetric metric;
  metric.key = key;
  metric.n = n;
  metric.value = [ranks = std::move(ranks)](std::span<const double> weights) -> std::optional<double> {
    double sum = 0, count = 0;
    for (const Ranks& r : ranks) {
      if (const std::optional<double> value = r.value(weights)) {
        sum += *value;
        ++count;
      }
    }
    if (count == 0) return std::nullopt;
    return sum / count;
  };
  return metric;
}

RowMetric spearman_metric(const ScoredRows& rows, const std::string& key, const SampleFigure& x,
                          const SampleFigure& y) {
  std::vector<WeightedSpearman> ranks;
  for (const auto& column : rows.by_sample) {
    std::vector<std::size_t> row;
    std::vector<double> xs, ys;
    for (const ScoredSample& s : column) {
      if (!s.parsed) continue;
      row.push_back(s.row);
      xs.push_back(x(s));
      ys.push_back(y(s));
    }
    ranks.emplace_back(std::move(row), std::move(xs), std::move(ys));
  }
  return mean_over_samples(key, std::move(ranks), parsed_rows(rows));
}

RowMetric auroc_metric(const ScoredRows& rows) {
  std::vector<WeightedAuroc> ranks;
  for (const auto& column : rows.by_sample) {
    std::vector<std::size_t> row;
    std::vector<double> scores;
    std::vector<bool> positive;
    for (const ScoredSample& s : column) {
      if (!s.parsed) continue;
      row.push_back(s.row);
      scores.push_back(confidence(s.p));
      positive.push_back(s.correct());
    }
    ranks.emplace_back(std::move(row), std::move(scores), std::move(positive));
  }
  return mean_over_samples("auroc_confidence", std::move(ranks), parsed_rows(rows));
}

}  // namespace

std::int64_t parsed_rows(const ScoredRows& rows) {
  std::vector<bool> seen(rows.rows, false);
  std::int64_t count = 0;
  for (const auto& column : rows.by_sample) {
    for (const ScoredSample& s : column) {
      if (!s.parsed || seen[s.row]) continue;
      seen[s.row] = true;
      ++count;
    }
  }
  return count;
}

std::vector<RowMetric> mean_metrics(const ScoredRows& rows, const EvaluationOptions& options) {
  std::vector<RowMetric> metrics;
  const auto add = [&](const std::string& key, Over over, const SampleFigure& figure) {
    metrics.push_back(mean_metric(rows, key, over, figure));
  };
  const SampleFigure correct = [](const ScoredSample& s) { return s.correct() ? 1.0 : 0.0; };
  add("accuracy", Over::all, correct);
  add("accuracy_parsed", Over::parsed, correct);
  add("accuracy_argmax", Over::all,
      [](const ScoredSample& s) { return s.parsed && argmax_bin(s.p) == s.truth ? 1.0 : 0.0; });
  add("off_by_one", Over::all,
      [](const ScoredSample& s) { return s.parsed && absolute_bin_error(s) <= 1 ? 1.0 : 0.0; });
  add("mean_abs_bin_error", Over::parsed, absolute_bin_error);
  add("parse_rate", Over::all, [](const ScoredSample& s) { return s.parsed ? 1.0 : 0.0; });
  const std::pair<std::string, double (*)(const Probabilities&, Bin)> scores[] = {
      {"brier", brier_score}, {"crps", crps}, {"nll", nll}};
  for (const auto& [key, score] : scores) {
    const SampleFigure figure = [rule = score](const ScoredSample& s) { return rule(s.p, s.truth); };
    add(key, Over::all, figure);
    add(key + "_parsed", Over::parsed, figure);
  }
  add("entropy", Over::parsed, [](const ScoredSample& s) { return entropy(s.p); });
  add("mean_confidence", Over::parsed, [](const ScoredSample& s) { return confidence(s.p); });
  add("mean_raw_sum", Over::parsed, [](const ScoredSample& s) { return s.raw_sum; });
  add("outside_mass", Over::all, [](const ScoredSample& s) { return s.outside_mass; });
  add("predicted_not_argmax", Over::parsed,
      [](const ScoredSample& s) { return s.p[s.predicted - 1] < confidence(s.p) - 1e-9 ? 1.0 : 0.0; });
  metrics.push_back(skill_metric(rows, options.base_rates));
  return metrics;
}

std::vector<RowMetric> rank_metrics(const ScoredRows& rows, const EvaluationOptions& options) {
  const SampleFigure expected = [values = options.bin_values](const ScoredSample& s) {
    return expected_log2_speedup(s.p, values);
  };
  return {
      spearman_metric(rows, "spearman_expected_log2", expected, [](const ScoredSample& s) { return s.log2_speedup; }),
      spearman_metric(
          rows, "spearman_confidence_abs_error", [](const ScoredSample& s) { return confidence(s.p); },
          absolute_bin_error),
      auroc_metric(rows)};
}

}  // namespace kc
