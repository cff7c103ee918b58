#pragma once
// Interleaved timing of a candidate and the seed on one case (docs/cuda.md, "Timing").
#include <chrono>
#include <optional>
#include <stop_token>

#include "cuda/gpu_side.h"
#include "forecast/measurement.h"
#include "measure/input_pool.h"

namespace kc {

// What one session may spend on input sets: memory of the harness, time of the reference on the CPU.
struct SetBudget {
  std::size_t bytes = std::size_t{1} << 30;
  std::chrono::nanoseconds time = std::chrono::seconds(5);
};

// Makes sets until there are `count`, or, beyond `least`, until the budget is spent.
void ensure_sets(InputPool& pool, std::size_t count, std::size_t least, SetBudget& budget);

struct GpuTimingPlan {
  double budget_s = 0.2;  // of this case
  std::size_t min_rounds = 8;
  std::size_t max_rounds = 40;
  double target_log2_halfwidth = 0.02;
  double turn_ns = 50e3;  // shortest span worth timing: a hundred times the resolution of events
  std::size_t check_sets = 2;
  SetBudget* set_budget = nullptr;
};

struct GpuPairTiming {
  CaseTiming timing;
  std::optional<RunnerFailure> candidate_failure;  // the rounds are then void
  std::optional<RunnerFailure> seed_failure;
  std::vector<double> sm_mhz;  // of every kept turn
  std::size_t throttled = 0;   // rounds timed again because the clock had dropped
  bool unstable = false;       // they were too many: the rest was kept as it was
};

struct GpuTimedSide {
  GpuSide* side = nullptr;
  double estimate_ns = 0;
};

// Both sides prepared for the pool's case. Rounds are A B, B A, A B ...; their number is fixed before the first. A
// round in which one turn's clock lies below three quarters of the highest seen is timed again, at most as many times
// as there are rounds.
GpuPairTiming time_gpu_pair(const GpuTimingPlan& plan, InputPool& pool, GpuTimedSide candidate, GpuTimedSide seed,
                            RngStream& rng, const std::stop_token& stop);

}  // namespace kc
