#include "forecast/scoring_rules.h"

#include <algorithm>
#include <cmath>

namespace kc {

double brier_score(const Probabilities& p, Bin truth) {
  double sum = 0;
  for (Bin b = 1; b <= kBins; ++b) {
    const double d = p[b - 1] - (b == truth ? 1 : 0);
    sum += d * d;
  }
  return sum / 2;
}

double crps(const Probabilities& p, Bin truth) {
  double sum = 0, cumulative = 0;
  for (Bin k = 1; k < kBins; ++k) {
    cumulative += p[k - 1];
    const double d = cumulative - (k >= truth ? 1 : 0);
    sum += d * d;
  }
  return sum / (kBins - 1);
}

double nll(const Probabilities& p, Bin truth) {
  constexpr double kFloor = 1e-12;
  return -std::log(std::max(p[truth - 1], kFloor));
}

}  // namespace kc
