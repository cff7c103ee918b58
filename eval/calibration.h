#pragma once
// Calibration errors of confidences, with weights (a bootstrap's multiplicities).
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"
#include "eval/evaluation.h"
#include "eval/scored_rows.h"

namespace kc {

enum class EceKind {
  equal_width,  // sum over buckets of (share) |mean confidence - accuracy|, buckets of equal width in [0, 1]
  equal_mass,   // the same over buckets of equal weight
  // Root mean square over equal-mass buckets, less the sampling variance a (1 - a) / (n - 1) that each bucket's
  // accuracy a has (Kumar, Liang, Ma, "Verified uncertainty calibration", NeurIPS 2019); 0 where that exceeds it.
  debiased,
};

// Confidences and whether each came true.
class ConfidenceItems {
 public:
  void add(std::size_t row, double confidence, bool hit);
  void sort();  // call once after the last add()
  std::size_t size() const { return row_.size(); }

  // `weights` by row. 0 when nothing weighs anything.
  double ece(EceKind kind, std::int64_t buckets, std::span<const double> weights) const;

  // ECE of `simulations` forecasters with these confidences that are calibrated perfectly: item i comes true with
  // probability confidence[i]. Every item weighs 1.
  std::vector<double> calibrated_eces(EceKind kind, std::int64_t buckets, int simulations, RngStream rng) const;

 private:
  double ece_of(EceKind kind, std::int64_t buckets, std::span<const double> item_weights,
                std::span<const double> hits) const;

  std::vector<std::size_t> row_;
  std::vector<double> confidence_;
  std::vector<double> hit_;
  std::vector<std::size_t> order_;
};

// Parsed samples: confidence max_b p_b against [argmax = truth]; published: p[predicted_bin] against [predicted =
// truth].
enum class ConfidenceOf { argmax, predicted };
ConfidenceItems confidence_items(const std::vector<ScoredSample>& samples, ConfidenceOf which);

// Buckets of equal width over all parsed samples. The interval of a bucket's accuracy is Wilson's at 95 %, with its
// count divided by the mean number of samples per row, since samples of one row share their truth.
std::vector<ReliabilityBucket> reliability_buckets(const ScoredRows& rows, std::int64_t buckets);

// Murphy's terms of the Brier score, summed over the eight classes (each with buckets of equal width of p_b) and
// halved: brier = reliability - resolution + uncertainty, but for the spread of p inside a bucket.
struct BrierTerms {
  double reliability = 0, resolution = 0, uncertainty = 0;
};
BrierTerms brier_terms(const std::vector<ScoredSample>& samples, std::int64_t buckets, std::span<const double> weights);

}  // namespace kc
