#pragma once
// Rows and samples of an evaluation, flattened and checked.
#include <cstddef>
#include <string>
#include <vector>

#include "eval/evaluation.h"

namespace kc {

// One sample of one row. A parse failure keeps the uniform forecast, which stands in for it where all rows count.
struct ScoredSample {
  std::size_t row = 0;
  bool parsed = false;
  Probabilities p = uniform_probabilities();
  Bin predicted = 0;  // 0 for a failure
  Bin truth = 0;
  double log2_speedup = 0;
  double raw_sum = 0;
  double outside_mass = 0;

  bool correct() const { return parsed && predicted == truth; }
};

struct ScoredRows {
  std::size_t rows = 0;
  std::vector<std::vector<ScoredSample>> by_sample;  // [s]: sample s of every row that has one, rows ascending
  std::vector<std::size_t> samples_of_row;
  std::vector<std::size_t> task_of_row;  // index into tasks
  std::vector<std::string> tasks;        // in order of first appearance
};

// Error{bad_data}: no rows, a row without samples, a truth outside 1..8, a speedup that is not finite.
ScoredRows score_rows(const std::vector<EvaluatedRow>& rows, bool ensemble_mean);

}  // namespace kc
