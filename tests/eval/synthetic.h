#pragma once
// Synthetic evaluations for the tests of eval.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/rng.h"
#include "eval/evaluation.h"

namespace kc::synthetic {

inline ForecastResult parsed(const Probabilities& p, Bin predicted) {
  ForecastResult result;
  Forecast forecast;
  forecast.p = p;
  forecast.predicted_bin = predicted;
  result.parsed = forecast;
  return result;
}

inline ForecastResult parsed(const Probabilities& p) { return parsed(p, argmax_bin(p)); }

inline ForecastResult failed(ParseOutcome outcome = ParseOutcome::missing_field) {
  ForecastResult result;
  result.parsed = Unexpected(ParseFailure{outcome, "detail"});
  return result;
}

inline EvaluatedRow row(const std::string& id, Bin truth, std::vector<ForecastResult> samples,
                        const std::string& task = "t") {
  return {id, task, "device", truth, default_bin_values()[truth - 1], std::move(samples)};
}

inline Probabilities random_distribution(RngStream& rng, double sharpness) {
  Probabilities p;
  double sum = 0;
  for (double& x : p) sum += x = std::pow(-std::log(1 - rng.uniform()), sharpness);
  for (double& x : p) x /= sum;
  return p;
}

inline Bin draw(const Probabilities& p, RngStream& rng) {
  double u = rng.uniform();
  for (Bin b = 1; b < kBins; ++b) {
    u -= p[b - 1];
    if (u < 0) return b;
  }
  return kBins;
}

// Rows whose truth is drawn from a distribution q; each sample states q, or q raised to `power` (> 1: overconfident).
inline std::vector<EvaluatedRow> rows(std::size_t count, std::size_t samples, std::size_t tasks, double power,
                                      RngStream rng) {
  std::vector<EvaluatedRow> result;
  for (std::size_t i = 0; i < count; ++i) {
    const Probabilities q = random_distribution(rng, 2);
    Probabilities stated;
    double sum = 0;
    for (std::size_t b = 0; b < stated.size(); ++b) sum += stated[b] = std::pow(q[b], power);
    for (double& x : stated) x /= sum;
    std::vector<ForecastResult> results(samples, parsed(stated));
    result.push_back(row(fmt::format("row{}", i), draw(q, rng), results, fmt::format("task{}", i % tasks)));
  }
  return result;
}

}  // namespace kc::synthetic
