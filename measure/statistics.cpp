#include "measure/statistics.h"

#include <algorithm>
#include <cmath>

namespace kc {

double median_of(std::vector<double> values) {
  const std::size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle), values.end());
  const double upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  return (upper + *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle))) / 2;
}

Interval sign_test_interval(std::vector<double> values, double level) {
  const std::size_t n = values.size();
  std::sort(values.begin(), values.end());
  Interval interval;
  double tail = 0;  // P(Binomial(n, 1/2) <= j)
  double probability = std::pow(0.5, static_cast<double>(n));
  for (std::size_t j = 0; 2 * j + 1 <= n; ++j) {
    tail += probability;
    if (2 * tail > level) break;
    interval = {values[j], values[n - 1 - j]};
    probability *= static_cast<double>(n - j) / static_cast<double>(j + 1);
  }
  return interval;
}

std::vector<std::size_t> look_rounds(std::size_t min_rounds, std::size_t max_rounds) {
  std::vector<std::size_t> looks;
  for (std::size_t rounds = min_rounds; rounds < max_rounds; rounds *= 2) looks.push_back(rounds);
  looks.push_back(max_rounds);
  return looks;
}

}  // namespace kc
