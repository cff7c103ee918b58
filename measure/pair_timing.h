#pragma once
// Interleaved timing of a candidate and the seed on one case (docs/measurement.md, "Timing").
#include <optional>

#include "forecast/measurement.h"
#include "measure/turns.h"

namespace kc {

struct TimedSide {
  Runner* runner = nullptr;
  double estimate_ns = 0;  // per launch, from the correctness checks
};

struct PairTiming {
  CaseTiming timing;                               // name, work and the rounds of both sides
  std::optional<RunnerFailure> candidate_failure;  // the rounds are then void
  std::optional<RunnerFailure> seed_failure;
  double turns_ns = 0;  // of the candidate's turns together
};

struct TimingPlan {
  double budget_s = 0.1;  // of this case
  std::size_t min_rounds = 8;
  std::size_t max_rounds = 40;
  double target_log2_halfwidth = 0.02;
  double turn_ns = 120e3;      // shortest turn worth stamping: a hundred times the jitter of the hand-shake
  std::size_t check_sets = 2;  // sets of the pool that correctness used: only for warming up
  PoolBudget* pool_budget = nullptr;
};

PairTiming time_pair(const TimingPlan& plan, InputPool& pool, TimedSide candidate, TimedSide seed, RngStream& rng);

}  // namespace kc
