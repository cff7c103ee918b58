#pragma once
// Input sets of one case with what the reference computed for them: made on demand from a secret stream, kept in the
// harness's own memory, shared by the candidates of one session.
#include <memory>
#include <stop_token>
#include <vector>

#include "base/rng.h"
#include "measure/check.h"
#include "measure/layout.h"
#include "measure/runner.h"

namespace kc {

struct InputSet {
  std::vector<std::byte> inputs;  // a whole set with its guards
  ExpectedOutputs expected;
  bool is_hard = false;  // drawn by check generators
};

class InputPool {
 public:
  // `reference` must outlive the pool. The last of `check_sets` sets is of the inputs' check generators, where they
  // have some.
  InputPool(const TaskPack& pack, const CaseSpec& input_case, Runner& reference, RngStream rng, std::size_t check_sets);

  // Makes sets until there are `count`. Error{bad_data} when the reference fails or computes something that is not
  // finite, Error{interrupted} between two sets.
  void ensure(std::size_t count, const std::stop_token& stop = {});
  std::size_t size() const { return sets_.size(); }
  const InputSet& operator[](std::size_t index) const { return *sets_[index]; }

  // A set that differs from set `index` in input `changed` only (for admission tests).
  InputSet variation(std::size_t index, std::size_t changed);
  // Set `index` with its floating inputs rounded, and what the reference makes of it (the same).
  InputSet rounded(std::size_t index, int mantissa_bits);

  bool is_warm() const { return !pack_.cold_cache; }
  const CaseSpec& input_case() const { return case_; }
  const SetLayout& input_layout() const { return input_layout_; }
  const OutputCheck& check() const { return check_; }
  std::span<const std::int64_t> sizes() const { return sizes_; }

 private:
  void draw(InputSet& set, std::size_t input, const TensorSpec& spec);
  void compute_expected(InputSet& set);

  const TaskPack& pack_;
  const CaseSpec& case_;
  Runner& reference_;
  RngStream rng_;
  std::size_t check_sets_;
  SetLayout input_layout_;
  OutputCheck check_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::unique_ptr<InputSet>> sets_;
};

// Input sets that correctness is checked on: correctness_seeds, and two at least where an input has a check generator.
std::size_t check_set_count(const TaskPack& pack, std::int64_t correctness_seeds);

// Bytes of the arenas that hold at least one set of every case, and as many as a turn should have of small ones.
struct ArenaSizes {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
};
ArenaSizes arena_sizes(const TaskPack& pack, const std::vector<TensorSpec>& outputs);

// Sets of this case that fit the arenas.
std::size_t launches_that_fit(const InputPool& pool, const Runner& runner);

}  // namespace kc
