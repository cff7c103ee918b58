#pragma once
// Order statistics of paired timings.
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace kc {

// Middle value, or the mean of the middle two. Precondition: not empty.
double median_of(std::vector<double> values);

struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  double halfwidth() const { return (high - low) / 2; }
};

// Distribution-free interval of the median by the sign test: the narrowest pair of order statistics x_(j), x_(n+1-j)
// that covers the median with probability at least 1 - `level`. Infinite when there are too few values.
Interval sign_test_interval(std::vector<double> values, double level);

// Sum of the squared distances to the mean.
double squares_about_mean(std::span<const double> values);

// t with P(|T| > t) = `level` for Student's distribution with `degrees` >= 1 degrees of freedom.
double student_t_quantile(double level, int degrees);

// Variance of the median of these values by their median absolute deviation, as if they were normal; 0 for fewer than
// three.
double variance_of_median(const std::vector<double>& values);

}  // namespace kc
