#include "eval/scored_rows.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"

namespace kc {

namespace {

ScoredSample scored(const EvaluatedRow& row, std::size_t index, const ForecastResult& result) {
  ScoredSample s;
  s.row = index;
  s.truth = row.truth;
  s.log2_speedup = row.log2_speedup;
  s.outside_mass = result.outside_mass;
  s.parsed = result.parsed.has_value();
  if (s.parsed) {
    s.p = result.parsed->p;
    s.predicted = result.parsed->predicted_bin;
    s.raw_sum = result.parsed->raw_sum;
  }
  return s;
}

// The mean of the parsed distributions; its bin is the argmax. A failure when none parsed.
ScoredSample ensemble(const std::vector<ScoredSample>& samples) {
  ScoredSample mean = samples.front();
  Probabilities sum{};
  double count = 0, raw_sum = 0, outside = 0;
  for (const ScoredSample& s : samples) {
    outside += s.outside_mass;
    if (!s.parsed) continue;
    ++count;
    raw_sum += s.raw_sum;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += s.p[i];
  }
  mean.outside_mass = outside / static_cast<double>(samples.size());
  if (count == 0) return mean;
  for (std::size_t i = 0; i < sum.size(); ++i) mean.p[i] = sum[i] / count;
  mean.parsed = true;
  mean.raw_sum = raw_sum / count;
  mean.predicted = argmax_bin(mean.p);
  return mean;
}

void check(const EvaluatedRow& row) {
  const auto refuse = [&row](const std::string& what) {
    throw Error(ErrorKind::bad_data, fmt::format("evaluation row '{}': {}", row.comparison_id, what));
  };
  if (row.truth < 1 || row.truth > kBins) refuse(fmt::format("true bin {} is outside 1 to {}", row.truth, kBins));
  if (!std::isfinite(row.log2_speedup)) refuse("its log2 speedup is not finite");
  if (row.samples.empty()) refuse("it has no forecast");
}

std::size_t task_index(std::vector<std::string>& tasks, const std::string& task) {
  const auto it = std::find(tasks.begin(), tasks.end(), task);
  if (it != tasks.end()) return static_cast<std::size_t>(it - tasks.begin());
  tasks.push_back(task);
  return tasks.size() - 1;
}

}  // namespace

ScoredRows score_rows(const std::vector<EvaluatedRow>& rows, bool ensemble_mean) {
  if (rows.empty()) throw Error(ErrorKind::bad_data, "nothing to evaluate: the split gave no rows");
  ScoredRows result;
  result.rows = rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    check(rows[i]);
    result.task_of_row.push_back(task_index(result.tasks, rows[i].task));
    std::vector<ScoredSample> samples;
    for (const ForecastResult& sample : rows[i].samples) samples.push_back(scored(rows[i], i, sample));
    if (ensemble_mean) samples = {ensemble(samples)};
    result.samples_of_row.push_back(samples.size());
    if (result.by_sample.size() < samples.size()) result.by_sample.resize(samples.size());
    for (std::size_t s = 0; s < samples.size(); ++s) result.by_sample[s].push_back(samples[s]);
  }
  return result;
}

}  // namespace kc
