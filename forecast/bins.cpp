#include "forecast/bins.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "base/error.h"

namespace kc {

namespace {

constexpr std::array<std::string_view, kBins> kBinNames = {
    "severe_slowdown", "significant_slowdown", "moderate_slowdown", "minor_slowdown",
    "minor_speedup",   "significant_speedup",  "high_speedup",      "extreme_speedup"};

void check_bin(Bin bin) {
  if (bin < 1 || bin > kBins) {
    throw Error(ErrorKind::internal, fmt::format("bin {} does not exist: bins are 1 to {}", bin, kBins));
  }
}

}  // namespace

const std::array<double, kBins - 1>& bin_upper_edges() {
  static constexpr std::array<double, kBins - 1> kEdges = {0.25, 0.5, std::numbers::sqrt2 / 2, 1.0, std::numbers::sqrt2,
                                                           2.0,  4.0};
  return kEdges;
}

Bin bin_of(double speedup, Binning binning) {
  if (!std::isfinite(speedup) || speedup <= 0) {
    throw Error(ErrorKind::bad_data,
                fmt::format("speedup {} has no bin: a speedup is a finite number above 0; rows of failed "
                            "measurements must be dropped before",
                            speedup));
  }
  if (binning == Binning::published) {
    return static_cast<Bin>(std::clamp(std::floor(2 * std::log2(speedup)) + 4, 1.0, 8.0));
  }
  const auto& edges = bin_upper_edges();
  return 1 + static_cast<Bin>(std::lower_bound(edges.begin(), edges.end(), speedup) - edges.begin());
}

std::string_view bin_name(Bin bin) {
  check_bin(bin);
  return kBinNames[bin - 1];
}

BinValues default_bin_values() { return {-3, -1.5, -0.75, -0.25, 0.25, 0.75, 1.5, 2.5}; }

BinValues bin_values_of(std::span<const double> training_log2_speedups) {
  constexpr double kOpenBinLog2 = 2;  // bin 1 ends at log2 S = -2, bin 8 begins at 2
  double low_sum = 0, high_sum = 0;
  std::size_t low_count = 0, high_count = 0;
  for (const double x : training_log2_speedups) {
    if (!std::isfinite(x)) {
      throw Error(ErrorKind::bad_data, fmt::format("training log2 speedup {} is not finite", x));
    }
    if (x <= -kOpenBinLog2) {
      low_sum += x;
      ++low_count;
    } else if (x > kOpenBinLog2) {
      high_sum += x;
      ++high_count;
    }
  }
  BinValues values = default_bin_values();
  if (low_count > 0) values.front() = low_sum / static_cast<double>(low_count);
  if (high_count > 0) values.back() = high_sum / static_cast<double>(high_count);
  return values;
}

Probabilities uniform_probabilities() {
  Probabilities p;
  p.fill(1.0 / kBins);
  return p;
}

Probabilities one_hot(Bin bin) {
  check_bin(bin);
  Probabilities p{};
  p[bin - 1] = 1;
  return p;
}

Bin argmax_bin(const Probabilities& p) {
  return 1 + static_cast<Bin>(std::max_element(p.begin(), p.end()) - p.begin());
}

double confidence(const Probabilities& p) { return *std::max_element(p.begin(), p.end()); }

double entropy(const Probabilities& p) {
  double sum = 0;
  for (const double x : p) {
    if (x > 0) sum -= x * std::log(x);
  }
  return sum;
}

double expected_log2_speedup(const Probabilities& p, const BinValues& values) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += p[i] * values[i];
  return sum;
}

}  // namespace kc
