#include "cuda/gpu_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/statistics.h"

namespace kc {
namespace {

constexpr std::size_t kTurnBytes = std::size_t{64} << 20;
constexpr std::size_t kUnseenRounds = 8;
constexpr double kThrottled = 0.75;  // of the highest clock seen
constexpr std::size_t kFewestRounds = 3;
constexpr double kRememberedRatio = 1.5;
constexpr double kRememberedLevel = 0.01;

// Rounds after which timing may stop: min, twice, four times ... and max.
std::vector<std::size_t> look_rounds(std::size_t min_rounds, std::size_t max_rounds) {
  std::vector<std::size_t> looks;
  for (std::size_t rounds = min_rounds; rounds < max_rounds; rounds *= 2) looks.push_back(rounds);
  looks.push_back(max_rounds);
  return looks;
}

class Rounds {
 public:
  Rounds(const GpuTimingPlan& plan, InputPool& pool, GpuTimedSide candidate, GpuTimedSide seed, RngStream& rng,
         const std::stop_token& stop)
      : plan_(plan), pool_(pool), candidate_(candidate), seed_(seed), rng_(rng), stop_(stop) {
    result_.timing.name = pool.input_case().name;
  }

  GpuPairTiming run() {
    launches_ = launches();
    if (!warm_up()) return std::move(result_);
    const double round_ns = (candidate_.estimate_ns + seed_.estimate_ns) * static_cast<double>(launches_) +
                            candidate_.side->overhead_ns() + seed_.side->overhead_ns();
    rounds_ = affordable(round_ns);
    const std::vector<std::size_t> looks = look_rounds(std::min(plan_.min_rounds, rounds_), rounds_);
    const double level = 0.05 / static_cast<double>(looks.size());
    for (std::size_t r = 0; r < rounds_; ++r) {
      if (!round(r)) break;
      if (std::find(looks.begin(), looks.end(), r + 1) == looks.end()) continue;
      if (sign_test_interval(log2_ratios(0, r + 1), level).halfwidth() < plan_.target_log2_halfwidth) break;
    }
    if (!result_.candidate_failure && !result_.seed_failure) find_memory();
    return std::move(result_);
  }

 private:
  std::size_t launches() const {
    if (candidate_.side->needs_single_launches() || seed_.side->needs_single_launches()) return 1;
    const double faster = std::max(std::min(candidate_.estimate_ns, seed_.estimate_ns), 500.0);
    const std::size_t bytes = std::max(candidate_.side->set_bytes(), seed_.side->set_bytes());
    const auto most = std::clamp<std::size_t>(kTurnBytes / bytes, 1, kMaxTurnLaunches);
    return static_cast<std::size_t>(std::clamp(std::ceil(plan_.turn_ns / faster), 1.0, static_cast<double>(most)));
  }

  // A turn of each side on sets that are not timed, which also refines the estimates.
  bool warm_up() {
    std::vector<std::size_t> sets(launches_);
    for (std::size_t l = 0; l < launches_; ++l) sets[l] = l % plan_.check_sets;
    const auto candidate = candidate_.side->turn(pool_, sets, rng_, stop_);
    if (!candidate) {
      result_.candidate_failure = candidate.error();
      return false;
    }
    const auto seed = seed_.side->turn(pool_, sets, rng_, stop_);
    if (!seed) {
      result_.seed_failure = seed.error();
      return false;
    }
    candidate_.estimate_ns = candidate->ns;
    seed_.estimate_ns = seed->ns;
    highest_mhz_ = std::max(candidate->sm_mhz, seed->sm_mhz);
    return true;
  }

  std::size_t affordable(double round_ns) const {
    const double rounds = plan_.budget_s * 1e9 / round_ns;
    const auto least = static_cast<double>(plan_.min_rounds);
    if (rounds >= least) return static_cast<std::size_t>(std::min(rounds, static_cast<double>(plan_.max_rounds)));
    return std::max(kFewestRounds, static_cast<std::size_t>(std::min(least, 4 * rounds)));
  }

  // Consecutive sets of the pool, from the first again when the budget allows no more.
  std::vector<std::size_t> sets_of(std::size_t round) {
    ensure_sets(pool_, plan_.check_sets + (round + 1) * launches_, plan_.check_sets + kUnseenRounds * launches_,
                *plan_.set_budget);
    const std::size_t timed = pool_.size() - plan_.check_sets;
    std::vector<std::size_t> sets(launches_);
    for (std::size_t l = 0; l < launches_; ++l) sets[l] = plan_.check_sets + (round * launches_ + l) % timed;
    return sets;
  }

  // False when a side failed.
  bool round(std::size_t r) {
    const std::vector<std::size_t> sets = sets_of(r);
    const std::vector<std::size_t> seed_sets = sets_of((r + rounds_ / 2) % rounds_);
    if ((r + 1) * launches_ <= pool_.size() - plan_.check_sets) unseen_rounds_ = r + 1;
    for (;;) {
      std::optional<GpuSample> a, b;
      for (int position = 0; position < 2; ++position) {
        const bool is_candidate = (position == 0) == (r % 2 == 0);  // A B, B A, A B ...
        GpuTimedSide& side = is_candidate ? candidate_ : seed_;
        const auto sample = side.side->turn(pool_, is_candidate ? sets : seed_sets, rng_, stop_);
        if (!sample) {
          (is_candidate ? result_.candidate_failure : result_.seed_failure) = sample.error();
          return false;
        }
        (is_candidate ? a : b) = *sample;
      }
      if (is_throttled(*a, *b)) continue;
      result_.timing.candidate_ns.push_back(static_cast<float>(a->ns));
      result_.timing.reference_ns.push_back(static_cast<float>(b->ns));
      result_.sm_mhz.insert(result_.sm_mhz.end(), {a->sm_mhz, b->sm_mhz});
      return true;
    }
  }

  bool is_throttled(const GpuSample& a, const GpuSample& b) {
    highest_mhz_ = std::max({highest_mhz_, a.sm_mhz, b.sm_mhz});
    if (std::min(a.sm_mhz, b.sm_mhz) >= kThrottled * highest_mhz_) return false;
    if (result_.throttled >= rounds_) {
      result_.unstable = true;
      return false;
    }
    ++result_.throttled;
    return true;
  }

  // A candidate that is much faster on sets it has seen keeps results somewhere.
  void find_memory() {
    const std::size_t rounds = result_.timing.candidate_ns.size();
    const Interval fresh = sign_test_interval(log2_ratios(0, unseen_rounds_), kRememberedLevel);
    const Interval repeated = sign_test_interval(log2_ratios(unseen_rounds_, rounds), kRememberedLevel);
    if (!(repeated.low - fresh.high > std::log2(kRememberedRatio))) return;
    result_.candidate_failure = RunnerFailure{
        MeasurementStatus::incorrect,
        fmt::format("case {}: at least {:.1f} times faster on inputs that it has seen before: it keeps results between "
                    "runs",
                    result_.timing.name, std::exp2(repeated.low - fresh.high))};
  }

  std::vector<double> log2_ratios(std::size_t first, std::size_t end) const {
    std::vector<double> ratios;
    const CaseTiming& timing = result_.timing;
    for (std::size_t i = first; i < end; ++i) {
      ratios.push_back(
          std::log2(static_cast<double>(timing.reference_ns[i]) / static_cast<double>(timing.candidate_ns[i])));
    }
    return ratios;
  }

  const GpuTimingPlan& plan_;
  InputPool& pool_;
  GpuTimedSide candidate_;
  GpuTimedSide seed_;
  RngStream& rng_;
  const std::stop_token& stop_;
  GpuPairTiming result_;
  std::size_t launches_ = 1;
  std::size_t rounds_ = 0;
  std::size_t unseen_rounds_ = 0;
  double highest_mhz_ = 0;
};

}  // namespace

void ensure_sets(InputPool& pool, std::size_t count, std::size_t least, SetBudget& budget) {
  const std::size_t bytes = pool.input_layout().bytes + 2 * pool.check().layout.bytes;
  while (pool.size() < count) {
    const bool affordable = budget.bytes >= bytes && budget.time > std::chrono::nanoseconds(0);
    if (pool.size() >= least && !affordable) return;
    const auto start = std::chrono::steady_clock::now();
    pool.ensure(pool.size() + 1);
    budget.bytes -= std::min(budget.bytes, bytes);
    budget.time -= std::chrono::steady_clock::now() - start;
  }
}

GpuPairTiming time_gpu_pair(const GpuTimingPlan& plan, InputPool& pool, GpuTimedSide candidate, GpuTimedSide seed,
                            RngStream& rng, const std::stop_token& stop) {
  return Rounds(plan, pool, candidate, seed, rng, stop).run();
}

}  // namespace kc
