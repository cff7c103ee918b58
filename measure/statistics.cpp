#include "measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>

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

double squares_about_mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares;
}

namespace {

// P(|T| <= t), a finite sum for whole degrees (Abramowitz and Stegun 26.7.3 and 26.7.4).
double student_t_within(double t, int degrees) {
  const double angle = std::atan(t / std::sqrt(degrees));
  const double cosine = std::cos(angle);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1;
  double sum = degrees == 1 ? 0 : term;
  for (int k = odd ? 3 : 2; k <= degrees - 2; k += 2) {
    term *= cosine * cosine * (k - 1) / k;
    sum += term;
  }
  return odd ? 2 / std::numbers::pi * (angle + std::sin(angle) * sum) : std::sin(angle) * sum;
}

}  // namespace

double student_t_quantile(double level, int degrees) {
  double low = 0, high = 1;
  while (student_t_within(high, degrees) < 1 - level) high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (student_t_within(middle, degrees) < 1 - level ? low : high) = middle;
  }
  return high;
}

double variance_of_median(const std::vector<double>& values) {
  if (values.size() < 3) return 0;
  const double median = median_of(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::fabs(value - median));
  const double deviation = 1.4826 * median_of(distances);
  return std::numbers::pi / 2 * deviation * deviation / static_cast<double>(values.size());
}

}  // namespace kc
