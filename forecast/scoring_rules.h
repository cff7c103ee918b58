#pragma once
// Proper scores of a forecast p for the true bin t, lower is better; y = one-hot(t), K = 8. `p` must sum to 1.
#include "forecast/bins.h"

namespace kc {

double brier_score(const Probabilities& p, Bin truth);  // 1/2 sum_b (p_b - y_b)^2, in [0, 1]
double crps(const Probabilities& p, Bin truth);         // 1/(K-1) sum_{k<K} (F_k - [k >= t])^2, in [0, 1]
double nll(const Probabilities& p, Bin truth);          // -ln max(p_t, 1e-12)

}  // namespace kc
