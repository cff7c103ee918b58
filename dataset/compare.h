#pragma once
// Two labellings of the same kernels: do the labels agree, and does the noise explain where they do not?
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/rng.h"
#include "dataset/label_store.h"

namespace kc {

struct LabelComparison {
  std::string kernel_name;
  std::string task;
  double log2_a = 0, log2_b = 0;  // speedups over the seed kernel
  // 95 %: the facts log2_low and log2_high where a label has them, else a bootstrap of its rounds.
  double low_a = 0, high_a = 0;
  double low_b = 0, high_b = 0;
  bool same_bin = false;
  bool straddles_edge = false;  // either interval holds a bin edge
  bool intervals_overlap = false;
};

struct LabellingComparison {
  std::vector<LabelComparison> labels;  // kernels that are ok in both
  std::int64_t status_changed = 0;      // in both, ok in one only
  std::int64_t in_one_only = 0;         // kernels that the other store lacks
  std::int64_t other_revision = 0;      // of another state of their task: not compared
  std::int64_t same_bin = 0;
  std::int64_t clear = 0;  // neither interval straddles an edge
  std::int64_t clear_same_bin = 0;
  std::int64_t overlapping = 0;           // intervals overlap
  double median_abs_log2_difference = 0;  // both interpolate linearly between order statistics
  double p95_abs_log2_difference = 0;
};

struct CompareOptions {
  int resamples = 1000;
  bool across_devices = false;  // of one device each; else only labels of equal devices are compared
};

// Compares labels of each store's tasks as they are (rows_of_current_state). Matches by task, kernel id and, unless
// across devices, device. Only rows with a reference side count (imported rows have none). Error{usage} when a store
// that is compared across devices holds several.
LabellingComparison compare_labellings(const Store& a, const Store& b, const CompareOptions& options, RngStream rng);

nlohmann::json to_json(const LabellingComparison& comparison);

}  // namespace kc
