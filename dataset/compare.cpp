#include "dataset/compare.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "dataset/task_states.h"
#include "forecast/bins.h"
#include "forecast/measurement_interval.h"
#include "forecast/task_revision.h"

namespace kc {
namespace {

Measurement resampled(const Measurement& measurement, RngStream& rng) {
  Measurement copy = measurement;
  for (std::size_t c = 0; c < copy.cases.size(); ++c) {
    const CaseTiming& from = measurement.cases[c];
    for (std::size_t r = 0; r < from.candidate_ns.size(); ++r) {
      const std::size_t pick = rng.below(from.candidate_ns.size());
      copy.cases[c].candidate_ns[r] = from.candidate_ns[pick];
      copy.cases[c].reference_ns[r] = from.reference_ns[pick];
    }
  }
  return copy;
}

Log2Interval interval_of(const Measurement& measurement, int resamples, RngStream rng) {
  if (const auto stored = stored_interval(measurement)) return *stored;
  std::vector<double> values;
  for (int i = 0; i < resamples; ++i) values.push_back(log2_speedup_scalar(resampled(measurement, rng)));
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return {values[static_cast<std::size_t>(0.025 * last)], values[static_cast<std::size_t>(std::ceil(0.975 * last))]};
}

bool holds_edge(const Log2Interval& interval) {
  const auto& edges = bin_upper_edges();
  return std::any_of(edges.begin(), edges.end(),
                     [&](double edge) { return interval.low <= std::log2(edge) && std::log2(edge) < interval.high; });
}

bool has_reference_side(const Measurement& measurement) {
  return std::all_of(measurement.cases.begin(), measurement.cases.end(),
                     [](const CaseTiming& c) { return c.reference_ns.size() == c.candidate_ns.size(); });
}

using Key = std::string;

std::map<Key, const Measurement*> by_key(const Store& store, bool across_devices) {
  std::map<Key, const Measurement*> map;
  const std::vector<bool> is_current = rows_of_current_state(store);
  for (std::size_t i = 0; i < store.measurements.size(); ++i) {
    if (!is_current[i]) continue;
    const Measurement& m = store.measurements[i];
    const std::string& device = m.provenance.device;
    if (across_devices && device != store.measurements.front().provenance.device) {
      throw Error(ErrorKind::usage, fmt::format("a store holds labels of {} and of {}: across devices, stores of one "
                                                "device each can be compared",
                                                store.measurements.front().provenance.device, device));
    }
    map[m.task + "|" + (across_devices ? "" : device) + "|" + kernel_id(m.kernel)] = &m;
  }
  return map;
}

LabelComparison compare_pair(const Measurement& a, const Measurement& b, int resamples, const RngStream& rng) {
  LabelComparison label{a.kernel_name, a.task, log2_speedup_scalar(a), log2_speedup_scalar(b)};
  const Log2Interval in_a = interval_of(a, resamples, rng.child("a"));
  const Log2Interval in_b = interval_of(b, resamples, rng.child("b"));
  label.low_a = in_a.low, label.high_a = in_a.high;
  label.low_b = in_b.low, label.high_b = in_b.high;
  label.same_bin = bin_of(std::exp2(label.log2_a)) == bin_of(std::exp2(label.log2_b));
  label.straddles_edge = holds_edge(in_a) || holds_edge(in_b);
  label.intervals_overlap = in_a.low <= in_b.high && in_b.low <= in_a.high;
  return label;
}

double quantile(const std::vector<double>& sorted, double q) {  // linear between order statistics; not empty
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

void summarise_differences(LabellingComparison& comparison) {
  std::vector<double> differences;
  for (const LabelComparison& label : comparison.labels) {
    comparison.same_bin += label.same_bin ? 1 : 0;
    comparison.clear += label.straddles_edge ? 0 : 1;
    comparison.clear_same_bin += !label.straddles_edge && label.same_bin ? 1 : 0;
    comparison.overlapping += label.intervals_overlap ? 1 : 0;
    differences.push_back(std::abs(label.log2_a - label.log2_b));
  }
  if (differences.empty()) return;
  std::sort(differences.begin(), differences.end());
  comparison.median_abs_log2_difference = quantile(differences, 0.5);
  comparison.p95_abs_log2_difference = quantile(differences, 0.95);
}

}  // namespace

LabellingComparison compare_labellings(const Store& a, const Store& b, const CompareOptions& options, RngStream rng) {
  LabellingComparison comparison;
  const auto own = by_key(a, options.across_devices), other = by_key(b, options.across_devices);
  std::int64_t in_both = 0;
  for (const auto& [key, in_a] : own) {
    const auto found = other.find(key);
    if (found == other.end()) continue;
    ++in_both;
    const Measurement& in_b = *found->second;
    if (of_other_revisions(*in_a, in_b)) {
      ++comparison.other_revision;
      continue;
    }
    const bool ok_a = in_a->status == MeasurementStatus::ok && has_reference_side(*in_a);
    const bool ok_b = in_b.status == MeasurementStatus::ok && has_reference_side(in_b);
    if (ok_a != ok_b) ++comparison.status_changed;
    if (ok_a && ok_b) comparison.labels.push_back(compare_pair(*in_a, in_b, options.resamples, rng.child(key)));
  }
  comparison.in_one_only = static_cast<std::int64_t>(own.size() + other.size()) - 2 * in_both;
  summarise_differences(comparison);
  return comparison;
}

nlohmann::json to_json(const LabellingComparison& comparison) {
  nlohmann::json json = {{"labels", comparison.labels.size()},
                         {"status_changed", comparison.status_changed},
                         {"in_one_only", comparison.in_one_only},
                         {"other_revision", comparison.other_revision},
                         {"same_bin", comparison.same_bin},
                         {"clear", comparison.clear},
                         {"clear_same_bin", comparison.clear_same_bin},
                         {"overlapping", comparison.overlapping},
                         {"median_abs_log2_difference", comparison.median_abs_log2_difference},
                         {"p95_abs_log2_difference", comparison.p95_abs_log2_difference},
                         {"changed", nlohmann::json::array()}};
  for (const LabelComparison& label : comparison.labels) {
    if (label.same_bin) continue;
    json["changed"].push_back({{"task", label.task},
                               {"kernel", label.kernel_name},
                               {"log2_a", {label.log2_a, label.low_a, label.high_a}},
                               {"log2_b", {label.log2_b, label.low_b, label.high_b}},
                               {"straddles_edge", label.straddles_edge}});
  }
  return json;
}

}  // namespace kc
