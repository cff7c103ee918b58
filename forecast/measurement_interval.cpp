#include "forecast/measurement_interval.h"

#include <algorithm>
#include <cmath>

namespace kc {
namespace {

constexpr double kTwoSided95 = 1.96;
constexpr double kDeviationOfMedian = 1.4826;  // standard deviation per median absolute deviation, of a normal
constexpr double kSquaredError = 1.5708;       // pi / 2: variance of a median of n, times n, per variance
constexpr double kUnknownNoise = 0.01;         // log2, where no noise floor was stored

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double squared_error(const CaseTiming& timing) {
  std::vector<double> logs;
  for (std::size_t r = 0; r < timing.candidate_ns.size(); ++r) {
    const double reference = timing.reference_ns.empty() ? 1.0 : double{timing.reference_ns[r]};
    logs.push_back(std::log2(reference / double{timing.candidate_ns[r]}));
  }
  const double middle = median(logs);
  for (double& log : logs) log = std::fabs(log - middle);
  const double deviation = kDeviationOfMedian * median(logs);
  return kSquaredError * deviation * deviation / static_cast<double>(logs.size());
}

}  // namespace

std::optional<Log2Interval> stored_interval(const Measurement& measurement) {
  const auto low = measurement.facts.find("log2_low"), high = measurement.facts.find("log2_high");
  if (low == measurement.facts.end() || high == measurement.facts.end()) return std::nullopt;
  return Log2Interval{low->second, high->second};
}

Log2Interval log2_speedup_interval(const Measurement& measurement) {
  const double log2 = log2_speedup_scalar(measurement);
  if (const auto stored = stored_interval(measurement)) return *stored;
  double squares = 0;
  for (const CaseTiming& timing : measurement.cases) squares += squared_error(timing);
  const auto cases = static_cast<double>(measurement.cases.size());
  const double floor = measurement.provenance.noise_floor > 0 ? measurement.provenance.noise_floor : kUnknownNoise;
  const double noise = kDeviationOfMedian * floor;
  const double halfwidth = kTwoSided95 * std::sqrt(2 * (squares / cases / cases + noise * noise));
  return {log2 - halfwidth, log2 + halfwidth};
}

std::optional<double> halfwidth_within_session(const Measurement& measurement) {
  const auto found = measurement.facts.find("within_session_log2_halfwidth");
  return found == measurement.facts.end() ? std::nullopt : std::optional<double>(found->second);
}

Log2Interval log2_ratio_interval(const Measurement& candidate, const Measurement& reference) {
  const Log2Interval a = log2_speedup_interval(candidate), b = log2_speedup_interval(reference);
  const double log2 = log2_speedup_scalar(candidate) - log2_speedup_scalar(reference);
  const double halfwidth = std::hypot(a.high - a.low, b.high - b.low) / 2;
  return {log2 - halfwidth, log2 + halfwidth};
}

}  // namespace kc
