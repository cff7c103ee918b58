#pragma once
// Speedups, the eight bins and their values (docs/forecasting.md, "Speedup and bins").
#include <array>
#include <span>
#include <string_view>

namespace kc {

inline constexpr int kBins = 8;

// A speedup bin, 1 (severe slowdown) to 8 (extreme speedup).
using Bin = int;

// p[b - 1] is the probability of bin b.
using Probabilities = std::array<double, kBins>;

// value[b - 1] is the log2 speedup that stands for bin b in expectations.
using BinValues = std::array<double, kBins>;

// edges: the table, bin b is (edge[b-1], edge[b]]. published: clamp(floor(2 log2 S) + 4, 1, 8), for comparison only.
enum class Binning { edges, published };

// Upper edges of bins 1..7: 1/4, 1/2, 1/sqrt 2, 1, sqrt 2, 2, 4.
const std::array<double, kBins - 1>& bin_upper_edges();

// Error{bad_data} unless `speedup` is finite and > 0: such a value is never a bin.
Bin bin_of(double speedup, Binning binning = Binning::edges);

std::string_view bin_name(Bin bin);  // "severe_slowdown" ...
BinValues default_bin_values();      // -3, -1.5, -0.75, -0.25, 0.25, 0.75, 1.5, 2.5

// The inner six as above, the two open bins by the mean log2 speedup of the training rows in them (defaults where
// none).
BinValues bin_values_of(std::span<const double> training_log2_speedups);

Probabilities uniform_probabilities();
Probabilities one_hot(Bin bin);
Bin argmax_bin(const Probabilities& p);                                         // the lowest of equals
double confidence(const Probabilities& p);                                      // max_b p_b
double entropy(const Probabilities& p);                                         // nats
double expected_log2_speedup(const Probabilities& p, const BinValues& values);  // sum_b p_b v_b

}  // namespace kc
