#include "eval/weighted_ranks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace kc {

namespace {

std::vector<std::size_t> sorted_order(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  return order;
}

// Calls group(begin, end) for runs of equal values in sorted order.
template <class Group>
void for_each_tie(const std::vector<std::size_t>& order, const std::vector<double>& values, const Group& group) {
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    group(begin, end);
    begin = end;
  }
}

std::vector<double> mid_ranks(const std::vector<std::size_t>& order, const std::vector<double>& values,
                              const std::vector<double>& item_weights) {
  std::vector<double> ranks(order.size());
  double before = 0;
  for_each_tie(order, values, [&](std::size_t begin, std::size_t end) {
    double weight = 0;
    for (std::size_t i = begin; i < end; ++i) weight += item_weights[order[i]];
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = before + (weight + 1) / 2;
    before += weight;
  });
  return ranks;
}

std::vector<double> weights_of_items(const std::vector<std::size_t>& row, std::span<const double> weights) {
  std::vector<double> result(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) result[i] = weights[row[i]];
  return result;
}

}  // namespace

WeightedSpearman::WeightedSpearman(std::vector<std::size_t> row, std::vector<double> x, std::vector<double> y)
    : row_(std::move(row)),
      x_(std::move(x)),
      y_(std::move(y)),
      order_x_(sorted_order(x_)),
      order_y_(sorted_order(y_)) {}

std::optional<double> WeightedSpearman::value(std::span<const double> weights) const {
  const std::vector<double> w = weights_of_items(row_, weights);
  const std::vector<double> rx = mid_ranks(order_x_, x_, w), ry = mid_ranks(order_y_, y_, w);
  const double total = std::accumulate(w.begin(), w.end(), 0.0);
  const double middle = (total + 1) / 2;  // the mean of all ranks
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double dx = rx[i] - middle, dy = ry[i] - middle;
    xx += w[i] * dx * dx;
    yy += w[i] * dy * dy;
    xy += w[i] * dx * dy;
  }
  if (xx <= 1e-9 || yy <= 1e-9) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

WeightedAuroc::WeightedAuroc(std::vector<std::size_t> row, std::vector<double> score, std::vector<bool> positive)
    : row_(std::move(row)), score_(std::move(score)), positive_(std::move(positive)), order_(sorted_order(score_)) {}

std::optional<double> WeightedAuroc::value(std::span<const double> weights) const {
  double positives = 0, negatives = 0, wins = 0;
  for_each_tie(order_, score_, [&](std::size_t begin, std::size_t end) {
    double group_positives = 0, group_negatives = 0;
    for (std::size_t i = begin; i < end; ++i) {
      (positive_[order_[i]] ? group_positives : group_negatives) += weights[row_[order_[i]]];
    }
    wins += group_positives * (negatives + group_negatives / 2);
    positives += group_positives;
    negatives += group_negatives;
  });
  if (positives <= 0 || negatives <= 0) return std::nullopt;
  return wins / (positives * negatives);
}

}  // namespace kc
