#pragma once
// Rank statistics of items with weights (a bootstrap's multiplicities), sorted once and linear in time per call.
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace kc {

// Spearman's rank correlation; ties share their mean rank. Item i weighs weights[row[i]].
class WeightedSpearman {
 public:
  WeightedSpearman(std::vector<std::size_t> row, std::vector<double> x, std::vector<double> y);
  // None when fewer than two items weigh anything or either side is constant.
  std::optional<double> value(std::span<const double> weights) const;

 private:
  std::vector<std::size_t> row_;
  std::vector<double> x_, y_;
  std::vector<std::size_t> order_x_, order_y_;
};

// Probability that a positive item has a higher score than a negative one, ties half.
class WeightedAuroc {
 public:
  WeightedAuroc(std::vector<std::size_t> row, std::vector<double> score, std::vector<bool> positive);
  std::optional<double> value(std::span<const double> weights) const;  // none without both kinds

 private:
  std::vector<std::size_t> row_;
  std::vector<double> score_;
  std::vector<bool> positive_;
  std::vector<std::size_t> order_;
};

}  // namespace kc
