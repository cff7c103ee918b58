#include "measure/pair_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/statistics.h"

namespace kc {
namespace {

constexpr double kOverheadNs = 250e3;  // of a round: waking, copying, checking
constexpr std::size_t kFewestRounds = 3;
constexpr std::size_t kLeastSets = 4;  // whatever the budget
constexpr double kRememberedRatio = 2.0;
constexpr std::size_t kComparableRounds = 4;

class Pairing {
 public:
  Pairing(const TimingPlan& plan, InputPool& pool, RngStream& rng) : plan_(plan), pool_(pool), rng_(rng) {}

  // Launches per turn, from the estimate of a single launch and then from a first batch.
  std::optional<RunnerFailure> settle(TimedSide& side, std::size_t& launches) {
    const std::size_t most = launches_that_fit(pool_, *side.runner);
    for (int pass = 0; pass < 2; ++pass) {
      const double wanted = std::ceil(plan_.turn_ns / std::max(side.estimate_ns, 100.0));
      launches = std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 1, most);
      std::vector<std::size_t> sets(launches);
      for (std::size_t l = 0; l < launches; ++l) sets[l] = l % plan_.check_sets;
      const auto turn = take_turn(*side.runner, pool_, sets, rng_);
      if (!turn) return turn.error();
      side.estimate_ns = std::min(side.estimate_ns, *turn);
    }
    return std::nullopt;
  }

  // The sets of a round: consecutive ones, from the first again when the pool has no more.
  std::vector<std::size_t> sets_of(std::size_t round, std::size_t launches) {
    pool_.ensure(plan_.check_sets + (round + 1) * launches, plan_.check_sets + kLeastSets, *plan_.pool_budget);
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
  const std::size_t rounds = timing.candidate_ns.size();
  if (unseen_rounds < kComparableRounds || unseen_rounds + kComparableRounds > rounds) return std::nullopt;
  const double fresh = median_of(log2_ratios(timing, 0, unseen_rounds));
  const double repeated = median_of(log2_ratios(timing, unseen_rounds, rounds));
  if (repeated - fresh < std::log2(kRememberedRatio)) return std::nullopt;
  return RunnerFailure{MeasurementStatus::incorrect,
                       fmt::format("case {}: {:.1f} times faster on inputs that it has seen before: it keeps results "
                                   "between runs",
                                   timing.name, std::exp2(repeated - fresh))};
}

}  // namespace

PairTiming time_pair(const TimingPlan& plan, InputPool& pool, TimedSide candidate, TimedSide seed, RngStream& rng) {
  PairTiming result;
  CaseTiming& timing = result.timing;
  timing.name = pool.input_case().name;
  Pairing pairing(plan, pool, rng);
  std::size_t candidate_launches = 1;
  std::size_t seed_launches = 1;
  result.candidate_failure = pairing.settle(candidate, candidate_launches);
  if (!result.candidate_failure) result.seed_failure = pairing.settle(seed, seed_launches);
  const double turn_ns = candidate.estimate_ns * static_cast<double>(candidate_launches) +
                         seed.estimate_ns * static_cast<double>(seed_launches);
  const std::size_t rounds = affordable_rounds(plan, turn_ns + kOverheadNs);
  const std::vector<std::size_t> looks = look_rounds(std::min(plan.min_rounds, rounds), rounds);
  std::size_t unseen_rounds = 0;
  for (std::size_t r = 0; r < rounds && !result.candidate_failure && !result.seed_failure; ++r) {
    const std::vector<std::size_t> sets = pairing.sets_of(r, candidate_launches);
    const std::vector<std::size_t> seed_sets = pairing.sets_of(r, seed_launches);
    if ((r + 1) * candidate_launches <= pool.size() - plan.check_sets) unseen_rounds = r + 1;
    const bool seed_first = r % 2 == 1;  // A B, B A, A B ...
    if (seed_first) result.seed_failure = pairing.turn(seed, seed_sets, timing.reference_ns);
    result.candidate_failure = pairing.turn(candidate, sets, timing.candidate_ns);
    if (result.candidate_failure || result.seed_failure) break;
    result.turns_ns += static_cast<double>(timing.candidate_ns.back()) * static_cast<double>(candidate_launches);
    if (!seed_first) result.seed_failure = pairing.turn(seed, seed_sets, timing.reference_ns);
    if (result.seed_failure || std::find(looks.begin(), looks.end(), r + 1) == looks.end()) continue;
    const double level = 0.05 / static_cast<double>(looks.size());
    if (sign_test_interval(log2_ratios(timing, 0, r + 1), level).halfwidth() < plan.target_log2_halfwidth) break;
  }
  if (!result.candidate_failure && !result.seed_failure) result.candidate_failure = find_memory(timing, unseen_rounds);
  return result;
}

}  // namespace kc
