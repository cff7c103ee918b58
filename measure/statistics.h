#pragma once
// Order statistics of paired timings.
#include <cstddef>
#include <limits>
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

// Rounds after which timing may stop: min, twice, four times ... and max. They are fixed before anything is timed.
std::vector<std::size_t> look_rounds(std::size_t min_rounds, std::size_t max_rounds);

}  // namespace kc
