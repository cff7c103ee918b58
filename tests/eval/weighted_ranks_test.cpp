#include "eval/weighted_ranks.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace kc {
namespace {

struct Sample {
  std::vector<std::size_t> row;
  std::vector<double> x, y;
  std::vector<bool> positive;
  std::vector<double> weights;
};

// Values with many ties, weights 0 to 3.
Sample random_sample(RngStream& rng) {
  Sample s;
  const std::size_t n = 5 + rng.below(20);
  for (std::size_t i = 0; i < n; ++i) {
    s.row.push_back(i);
    s.x.push_back(static_cast<double>(rng.below(6)));
    s.y.push_back(s.x.back() + static_cast<double>(rng.below(4)));
    s.positive.push_back(rng.below(3) == 0);
    s.weights.push_back(static_cast<double>(rng.below(4)));
  }
  return s;
}

// The sample with each item repeated as often as it weighs.
Sample repeated(const Sample& s) {
  Sample r;
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    for (int k = 0; k < static_cast<int>(s.weights[i]); ++k) {
      r.row.push_back(r.row.size());
      r.x.push_back(s.x[i]);
      r.y.push_back(s.y[i]);
      r.positive.push_back(s.positive[i]);
      r.weights.push_back(1);
    }
  }
  return r;
}

std::vector<double> brute_ranks(const std::vector<double>& values) {
  std::vector<double> ranks;
  for (const double v : values) {
    double below = 0, equal = 0;
    for (const double w : values) {
      below += w < v ? 1 : 0;
      equal += w == v ? 1 : 0;
    }
    ranks.push_back(below + (equal + 1) / 2);
  }
  return ranks;
}

std::optional<double> brute_spearman(const Sample& s) {
  const std::vector<double> a = brute_ranks(s.x), b = brute_ranks(s.y);
  const double n = static_cast<double>(a.size());
  const double ma = std::accumulate(a.begin(), a.end(), 0.0) / n, mb = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double aa = 0, bb = 0, ab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    aa += (a[i] - ma) * (a[i] - ma);
    bb += (b[i] - mb) * (b[i] - mb);
    ab += (a[i] - ma) * (b[i] - mb);
  }
  if (aa == 0 || bb == 0) return std::nullopt;
  return ab / std::sqrt(aa * bb);
}

std::optional<double> brute_auroc(const Sample& s) {
  double wins = 0, pairs = 0;
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    for (std::size_t j = 0; j < s.x.size(); ++j) {
      if (!s.positive[i] || s.positive[j]) continue;
      pairs += 1;
      wins += s.x[i] > s.x[j] ? 1 : s.x[i] == s.x[j] ? 0.5 : 0;
    }
  }
  if (pairs == 0) return std::nullopt;
  return wins / pairs;
}

void expect_equal(const std::optional<double>& a, const std::optional<double>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  if (a) {
    EXPECT_NEAR(*a, *b, 1e-12);
  }
}

TEST(WeightedRanks, AgreeWithBruteForceOnRepeatedItems) {
  RngStream rng(12);
  for (int trial = 0; trial < 500; ++trial) {
    const Sample s = random_sample(rng);
    const Sample r = repeated(s);
    expect_equal(WeightedSpearman(s.row, s.x, s.y).value(s.weights), brute_spearman(r));
    expect_equal(WeightedAuroc(s.row, s.x, s.positive).value(s.weights), brute_auroc(r));
  }
}

TEST(WeightedRanks, KnowTheirExtremes) {
  const std::vector<double> ones(4, 1.0);
  EXPECT_NEAR(*WeightedSpearman({0, 1, 2, 3}, {1, 2, 3, 4}, {10, 20, 40, 30}).value(ones), 0.8, 1e-12);
  EXPECT_NEAR(*WeightedSpearman({0, 1, 2, 3}, {1, 2, 3, 4}, {4, 3, 2, 1}).value(ones), -1, 1e-12);
  EXPECT_EQ(WeightedAuroc({0, 1, 2, 3}, {1, 2, 3, 4}, {false, false, true, true}).value(ones), 1.0);
  EXPECT_EQ(WeightedAuroc({0, 1}, {1, 2}, {true, true}).value(ones), std::nullopt);
  EXPECT_EQ(WeightedSpearman({}, {}, {}).value(ones), std::nullopt);
}

}  // namespace
}  // namespace kc
