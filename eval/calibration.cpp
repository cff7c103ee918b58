#include "eval/calibration.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kc {

namespace {

struct Sums {
  double weight = 0, confidence = 0, hits = 0;
};

std::size_t width_bucket(double confidence, std::int64_t buckets) {
  const auto index = static_cast<std::int64_t>(confidence * static_cast<double>(buckets));
  return static_cast<std::size_t>(std::clamp<std::int64_t>(index, 0, buckets - 1));
}

double absolute_error(const std::vector<Sums>& buckets, double total) {
  double sum = 0;
  for (const Sums& b : buckets) sum += std::abs(b.confidence - b.hits);
  return sum / total;
}

double debiased_error(const std::vector<Sums>& buckets, double total) {
  double sum = 0;
  for (const Sums& b : buckets) {
    if (b.weight <= 1) continue;
    const double accuracy = b.hits / b.weight;
    const double gap = b.confidence / b.weight - accuracy;
    sum += b.weight * (gap * gap - accuracy * (1 - accuracy) / (b.weight - 1));
  }
  return std::sqrt(std::max(0.0, sum / total));
}

// Wilson's score interval at 95 %.
void set_interval(ReliabilityBucket& bucket, double n) {
  constexpr double kZ = 1.959964;
  const double a = bucket.accuracy, scale = 1 + kZ * kZ / n;
  const double centre = (a + kZ * kZ / (2 * n)) / scale;
  const double half = kZ * std::sqrt(a * (1 - a) / n + kZ * kZ / (4 * n * n)) / scale;
  bucket.accuracy_low = std::max(0.0, centre - half);
  bucket.accuracy_high = std::min(1.0, centre + half);
}

}  // namespace

void ConfidenceItems::add(std::size_t row, double confidence, bool hit) {
  row_.push_back(row);
  confidence_.push_back(confidence);
  hit_.push_back(hit ? 1 : 0);
}

void ConfidenceItems::sort() {
  order_.resize(row_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [this](std::size_t a, std::size_t b) { return confidence_[a] < confidence_[b]; });
}

double ConfidenceItems::ece_of(EceKind kind, std::int64_t buckets, std::span<const double> item_weights,
                               std::span<const double> hits) const {
  const double total = std::accumulate(item_weights.begin(), item_weights.end(), 0.0);
  if (total <= 0) return 0;
  std::vector<Sums> sums(static_cast<std::size_t>(buckets));
  double before = 0;
  for (const std::size_t i : order_) {
    const double w = item_weights[i];
    const double position = kind == EceKind::equal_width ? confidence_[i] : (before + w / 2) / total;
    Sums& bucket = sums[width_bucket(position, buckets)];
    bucket.weight += w;
    bucket.confidence += w * confidence_[i];
    bucket.hits += w * hits[i];
    before += w;
  }
  return kind == EceKind::debiased ? debiased_error(sums, total) : absolute_error(sums, total);
}

double ConfidenceItems::ece(EceKind kind, std::int64_t buckets, std::span<const double> weights) const {
  std::vector<double> item_weights(row_.size());
  for (std::size_t i = 0; i < row_.size(); ++i) item_weights[i] = weights[row_[i]];
  return ece_of(kind, buckets, item_weights, hit_);
}

std::vector<double> ConfidenceItems::calibrated_eces(EceKind kind, std::int64_t buckets, int simulations,
                                                     RngStream rng) const {
  const std::vector<double> ones(row_.size(), 1.0);
  std::vector<double> hits(row_.size()), result;
  for (int simulation = 0; simulation < simulations; ++simulation) {
    for (std::size_t i = 0; i < hits.size(); ++i) hits[i] = rng.uniform() < confidence_[i] ? 1 : 0;
    result.push_back(ece_of(kind, buckets, ones, hits));
  }
  return result;
}

ConfidenceItems confidence_items(const std::vector<ScoredSample>& samples, ConfidenceOf which) {
  ConfidenceItems items;
  for (const ScoredSample& s : samples) {
    if (!s.parsed) continue;
    const Bin bin = which == ConfidenceOf::argmax ? argmax_bin(s.p) : s.predicted;
    items.add(s.row, s.p[bin - 1], bin == s.truth);
  }
  items.sort();
  return items;
}

std::vector<ReliabilityBucket> reliability_buckets(const ScoredRows& rows, std::int64_t buckets) {
  std::vector<ReliabilityBucket> result(static_cast<std::size_t>(buckets));
  double samples = 0;
  for (const auto& column : rows.by_sample) {
    samples += static_cast<double>(column.size());
    for (const ScoredSample& s : column) {
      if (!s.parsed) continue;
      ReliabilityBucket& bucket = result[width_bucket(confidence(s.p), buckets)];
      ++bucket.count;
      bucket.mean_confidence += confidence(s.p);
      bucket.accuracy += argmax_bin(s.p) == s.truth ? 1 : 0;
    }
  }
  const double samples_per_row = samples / static_cast<double>(rows.rows);
  for (std::size_t k = 0; k < result.size(); ++k) {
    ReliabilityBucket& bucket = result[k];
    bucket.low = static_cast<double>(k) / static_cast<double>(buckets);
    bucket.high = static_cast<double>(k + 1) / static_cast<double>(buckets);
    if (bucket.count == 0) continue;
    bucket.mean_confidence /= static_cast<double>(bucket.count);
    bucket.accuracy /= static_cast<double>(bucket.count);
    set_interval(bucket, static_cast<double>(bucket.count) / samples_per_row);
  }
  return result;
}

BrierTerms brier_terms(const std::vector<ScoredSample>& samples, std::int64_t buckets,
                       std::span<const double> weights) {
  std::vector<Sums> sums(static_cast<std::size_t>(buckets) * kBins);
  Probabilities outcome{};
  double total = 0;
  for (const ScoredSample& s : samples) {
    const double w = weights[s.row];
    total += w;
    outcome[s.truth - 1] += w;
    for (std::size_t b = 0; b < kBins; ++b) {
      Sums& bucket = sums[b * static_cast<std::size_t>(buckets) + width_bucket(s.p[b], buckets)];
      bucket.weight += w;
      bucket.confidence += w * s.p[b];
      if (s.truth == static_cast<Bin>(b) + 1) bucket.hits += w;
    }
  }
  BrierTerms terms;
  if (total <= 0) return terms;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Sums& bucket = sums[i];
    if (bucket.weight <= 0) continue;
    const double rate = outcome[i / static_cast<std::size_t>(buckets)] / total;
    const double observed = bucket.hits / bucket.weight, stated = bucket.confidence / bucket.weight;
    terms.reliability += bucket.weight * (stated - observed) * (stated - observed) / (2 * total);
    terms.resolution += bucket.weight * (observed - rate) * (observed - rate) / (2 * total);
  }
  for (const double o : outcome) terms.uncertainty += o / total * (1 - o / total) / 2;
  return terms;
}

}  // namespace kc
