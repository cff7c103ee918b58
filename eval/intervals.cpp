#include "eval/intervals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace kc {

namespace {

// 97.5 % quantile of Student's t: exact to six digits up to 19 degrees of freedom, above by the Cornish-Fisher
// expansion around the normal quantile (error below 1e-4 there).
double t_quantile(std::size_t freedom) {
  static constexpr std::array<double, 20> kTable = {
      0,        12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157,
      2.228139, 2.200985,  2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922, 2.093024};
  if (freedom < kTable.size()) return kTable[freedom];
  constexpr double z = 1.959964;
  const double v = static_cast<double>(freedom);
  const double z3 = z * z * z, z5 = z3 * z * z;
  return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v);
}

double exact_sign_flip(std::span<const double> values, double bound) {
  const std::uint32_t assignments = std::uint32_t{1} << values.size();
  std::uint32_t far = 0;
  for (std::uint32_t signs = 0; signs < assignments; ++signs) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += (signs >> i & 1U) != 0 ? values[i] : -values[i];
    if (std::abs(sum) >= bound) ++far;
  }
  return static_cast<double>(far) / static_cast<double>(assignments);
}

double random_sign_flip(std::span<const double> values, double bound, RngStream rng) {
  constexpr int kAssignments = 100000;
  int far = 1;
  for (int k = 1; k < kAssignments; ++k) {
    double sum = 0;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % 64 == 0) bits = rng.next_u64();
      sum += (bits >> (i % 64) & 1U) != 0 ? values[i] : -values[i];
    }
    if (std::abs(sum) >= bound) ++far;
  }
  return static_cast<double>(far) / kAssignments;
}

}  // namespace

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile(std::vector<double>& values, double q) {
  std::sort(values.begin(), values.end());
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

Interval central_95(std::vector<double> values) {
  const double low = quantile(values, 0.025);
  return {low, quantile(values, 0.975)};
}

std::optional<Interval> t_interval(std::span<const double> values) {
  if (values.size() < 3) return std::nullopt;
  const double centre = mean(values), n = static_cast<double>(values.size());
  double squares = 0;
  for (const double x : values) squares += (x - centre) * (x - centre);
  const double half = t_quantile(values.size() - 1) * std::sqrt(squares / (n - 1) / n);
  return Interval{centre - half, centre + half};
}

Resample resample_rows(std::size_t rows) {
  return [rows](RngStream& rng, std::span<double> weights) {
    std::fill(weights.begin(), weights.end(), 0.0);
    for (std::size_t i = 0; i < rows; ++i) weights[rng.below(rows)] += 1;
  };
}

Resample resample_tasks(std::vector<std::size_t> task_of_row, std::size_t tasks) {
  return [task_of_row = std::move(task_of_row), tasks](RngStream& rng, std::span<double> weights) {
    std::vector<double> task_weights(tasks, 0.0);
    for (std::size_t i = 0; i < tasks; ++i) task_weights[rng.below(tasks)] += 1;
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = task_weights[task_of_row[i]];
  };
}

double sign_flip_p(std::span<const double> values, RngStream rng) {
  if (values.empty()) return 1;
  double sum = 0, scale = 0;
  for (const double x : values) {
    sum += x;
    scale += std::abs(x);
  }
  // Sums in another order differ in the last bits; equal ones must count as equal.
  const double bound = std::abs(sum) - 1e-12 * scale;
  return values.size() <= 20 ? exact_sign_flip(values, bound) : random_sign_flip(values, bound, rng);
}

}  // namespace kc
