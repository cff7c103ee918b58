#include "measure/pair_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/statistics.h"

namespace kc {
namespace {

constexpr double kLongestTurns = 40;   // of the slower side, in shortest turns
constexpr double kOverheadNs = 250e3;  // of a round: waking, copying, checking
constexpr std::size_t kFewestRounds = 3;
constexpr std::size_t kUnseenRounds = 8;  // on sets of their own, whatever the budget of the pool
constexpr double kRememberedRatio = 1.5;
constexpr double kRememberedLevel = 0.01;  // an interval at this level needs eight rounds

class Pairing {
 public:
  Pairing(const TimingPlan& plan, InputPool& pool, RngStream& rng) : plan_(plan), pool_(pool), rng_(rng) {}

  // Launches per turn, the same for both sides so that both find their memory in the same state: enough for the faster
  // side's turn to be worth stamping, few enough for the slower side's to end soon.
  std::size_t launches_for(const TimedSide& a, const TimedSide& b) {
    const double faster = std::max(std::min(a.estimate_ns, b.estimate_ns), 100.0);
    const double slower = std::max(a.estimate_ns, b.estimate_ns);
    const double wanted = std::min(std::ceil(plan_.turn_ns / faster), kLongestTurns * plan_.turn_ns / slower);
    const std::size_t most = std::min(launches_that_fit(pool_, *a.runner), launches_that_fit(pool_, *b.runner));
    return static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(most)));
  }

  // A first turn on sets that are not timed: warms the side up and refines its estimate.
  std::optional<RunnerFailure> warm_up(TimedSide& side, std::size_t launches) {
    std::vector<std::size_t> sets(launches);
    for (std::size_t l = 0; l < launches; ++l) sets[l] = l % plan_.check_sets;
    const auto turn = take_turn(*side.runner, pool_, sets, rng_);
    if (!turn) return turn.error();
    side.estimate_ns = std::min(side.estimate_ns, *turn);
    return std::nullopt;
  }

  // The sets of a round: consecutive ones, from the first again when the pool has no more.
  std::vector<std::size_t> sets_of(std::size_t round, std::size_t launches) {
    pool_.ensure(plan_.check_sets + (round + 1) * launches, plan_.check_sets + kUnseenRounds * launches,
                 *plan_.pool_budget);
    const std::size_t timed = pool_.size() - plan_.check_sets;
    std::vector<std::size_t> sets(launches);
    for (std::size_t l = 0; l < launches; ++l) sets[l] = plan_.check_sets + (round * launches + l) % timed;
    return sets;
  }

  std::optional<RunnerFailure> turn(const TimedSide& side, std::span<const std::size_t> sets,
                                    std::vector<float>& times) {
    const auto nanoseconds = take_turn(*side.runner, pool_, sets, rng_);
    if (!nanoseconds) return nanoseconds.error();
    times.push_back(static_cast<float>(*nanoseconds));
    return std::nullopt;
  }

  const TimingPlan& plan_;
  InputPool& pool_;
  RngStream& rng_;
};

double log2_ratio(const CaseTiming& timing, std::size_t round) {
  return std::log2(static_cast<double>(timing.reference_ns[round]) / static_cast<double>(timing.candidate_ns[round]));
}

std::vector<double> log2_ratios(const CaseTiming& timing, std::size_t first, std::size_t end) {
  std::vector<double> ratios;
  for (std::size_t r = first; r < end; ++r) ratios.push_back(log2_ratio(timing, r));
  return ratios;
}

// Rounds that the budget allows; fixed by the coarse estimates before the first round.
std::size_t affordable_rounds(const TimingPlan& plan, double round_ns) {
  const double budget_ns = plan.budget_s * 1e9;
  const double rounds = budget_ns / round_ns;
  const auto least = static_cast<double>(plan.min_rounds);
  if (rounds >= least) return static_cast<std::size_t>(std::min(rounds, static_cast<double>(plan.max_rounds)));
  return std::max(kFewestRounds, static_cast<std::size_t>(std::min(least, 4 * rounds)));
}

// A candidate that is much faster on sets it has seen keeps results between runs.
std::optional<RunnerFailure> find_memory(const CaseTiming& timing, std::size_t unseen_rounds) {
  const Interval fresh = sign_test_interval(log2_ratios(timing, 0, unseen_rounds), kRememberedLevel);
  const Interval repeated =
      sign_test_interval(log2_ratios(timing, unseen_rounds, timing.candidate_ns.size()), kRememberedLevel);
  if (!(repeated.low - fresh.high > std::log2(kRememberedRatio))) return std::nullopt;
  return RunnerFailure{MeasurementStatus::incorrect,
                       fmt::format("case {}: at least {:.1f} times faster on inputs that it has seen before: it keeps "
                                   "results between runs",
                                   timing.name, std::exp2(repeated.low - fresh.high))};
}

}  // namespace

PairTiming time_pair(const TimingPlan& plan, InputPool& pool, TimedSide candidate, TimedSide seed, RngStream& rng) {
  PairTiming result;
  CaseTiming& timing = result.timing;
  timing.name = pool.input_case().name;
  Pairing pairing(plan, pool, rng);
  std::size_t launches = 1;
  for (int pass = 0; pass < 2 && !result.candidate_failure && !result.seed_failure; ++pass) {
    launches = pairing.launches_for(candidate, seed);
    result.candidate_failure = pairing.warm_up(candidate, launches);
    if (!result.candidate_failure) result.seed_failure = pairing.warm_up(seed, launches);
  }
  launches = pairing.launches_for(candidate, seed);
  const double turns_ns = (candidate.estimate_ns + seed.estimate_ns) * static_cast<double>(launches);
  const std::size_t rounds = affordable_rounds(plan, turns_ns + kOverheadNs);
  const std::vector<std::size_t> looks = look_rounds(std::min(plan.min_rounds, rounds), rounds);
  std::size_t unseen_rounds = 0;
  for (std::size_t r = 0; r < rounds && !result.candidate_failure && !result.seed_failure; ++r) {
    const std::vector<std::size_t> sets = pairing.sets_of(r, launches);
    // Not the same sets as the candidate's: the side that comes second would find branches that were learned on them.
    const std::vector<std::size_t> seed_sets = pairing.sets_of((r + rounds / 2) % rounds, launches);
    if ((r + 1) * launches <= pool.size() - plan.check_sets) unseen_rounds = r + 1;
    const bool seed_first = r % 2 == 1;  // A B, B A, A B ...
    if (seed_first) result.seed_failure = pairing.turn(seed, seed_sets, timing.reference_ns);
    result.candidate_failure = pairing.turn(candidate, sets, timing.candidate_ns);
    if (result.candidate_failure || result.seed_failure) break;
    result.turns_ns += static_cast<double>(timing.candidate_ns.back()) * static_cast<double>(launches);
    if (!seed_first) result.seed_failure = pairing.turn(seed, seed_sets, timing.reference_ns);
    if (result.seed_failure || std::find(looks.begin(), looks.end(), r + 1) == looks.end()) continue;
    const double level = 0.05 / static_cast<double>(looks.size());
    if (sign_test_interval(log2_ratios(timing, 0, r + 1), level).halfwidth() < plan.target_log2_halfwidth) break;
  }
  if (!result.candidate_failure && !result.seed_failure) result.candidate_failure = find_memory(timing, unseen_rounds);
  return result;
}

}  // namespace kc
