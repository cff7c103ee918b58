#include "measure/label_timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <numeric>

#include "measure/statistics.h"

namespace kc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLongestTurns = 40;   // of the slower side, in shortest turns
constexpr double kPatience = 4;        // budgets that the fewest rounds in two processes may take
constexpr std::size_t kFirstLook = 2;  // processes
constexpr std::size_t kMostProcesses = 8;
constexpr double kLevel = 0.05;
constexpr double kWarmShare = 0.5;        // of a shortest turn, spent on warm launches
constexpr double kLongLaunchNs = 2e6;     // whose caches do not matter
constexpr std::size_t kMostAttempts = 3;  // at a planned round, in the mean of a process

struct CasePlan {
  std::size_t launches = 1;
  std::size_t rounds = 8;  // in a process
};

// Numbers of processes after which to look at the interval.
std::vector<std::size_t> looks_at(std::size_t processes) {
  std::vector<std::size_t> looks;
  for (std::size_t look = kFirstLook; look < processes; look *= 2) looks.push_back(look);
  looks.push_back(processes);
  return looks;
}

// The level is divided among the looks (Bonferroni), so that stopping on a lucky one does not make intervals too
// narrow.
double level_of_look(const std::vector<std::size_t>& looks) { return kLevel / static_cast<double>(looks.size()); }

class LabelTimer {
 public:
  LabelTimer(const LabelPlan& plan, LabelBench& bench, std::span<const double> candidate, std::span<const double> seed,
             const ProcessNoise& noise)
      : plan_(plan),
        bench_(bench),
        noise_(noise),
        estimates_{{candidate.begin(), candidate.end()}, {seed.begin(), seed.end()}} {
    timing_.cases.resize(bench.case_count());
  }

  Expected<LabelTiming, TimingFailure> run() {
    if (auto failure = estimate_all()) return Unexpected(std::move(*failure));
    plan_rounds();
    for (std::size_t process = 0; process < processes_; ++process) {
      if (process > 0) {
        if (auto failure = bench_.next_process()) return Unexpected(std::move(*failure));
      }
      if (auto failure = time_process(process)) return Unexpected(std::move(*failure));
      if (std::find(looks_.begin(), looks_.end(), process + 1) != looks_.end() && look()) break;
    }
    return std::move(timing_);
  }

 private:
  double& estimate(Side side, std::size_t c) { return estimates_[static_cast<std::size_t>(side)][c]; }

  // Launches per turn, the same for both sides so that both find their memory in the same state: enough for the faster
  // side's turn to be worth stamping, few enough for the slower side's to end soon.
  std::size_t launches_for(std::size_t c) {
    const double a = estimate(Side::candidate, c), b = estimate(Side::seed, c);
    const double faster = std::max(std::min(a, b), 100.0);
    const double wanted = std::min(std::ceil(plan_.turn_ns / faster), kLongestTurns * plan_.turn_ns / std::max(a, b));
    return static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(bench_.most_launches(c))));
  }

  // Turns on sets that are not timed: the first of a process for a case, and what settles the number of launches.
  std::optional<TimingFailure> warm_up(std::size_t c, std::size_t launches) {
    std::vector<std::size_t> sets(launches);
    for (std::size_t l = 0; l < launches; ++l) sets[l] = l % plan_.check_sets;
    for (const Side side : {Side::candidate, Side::seed}) {
      const auto turn = bench_.turn(side, c, sets, 0);
      if (!turn) return TimingFailure{side, turn.error()};
      estimate(side, c) = std::min(estimate(side, c), *turn);
    }
    return std::nullopt;
  }

  std::optional<TimingFailure> estimate_all() {
    for (std::size_t c = 0; c < bench_.case_count(); ++c) {
      for (int pass = 0; pass < 2; ++pass) {
        if (auto failure = warm_up(c, launches_for(c))) return failure;
      }
    }
    return std::nullopt;
  }

  // Enough to fetch what other work on the core has driven out of its caches.
  std::size_t warm_launches(Side side, std::size_t c) {
    if (estimate(side, c) > kLongLaunchNs) return 0;
    return std::max<std::size_t>(1, static_cast<std::size_t>(plan_.turn_ns * kWarmShare / estimate(side, c)));
  }

  // From the coarse estimates alone, before the first timed round.
  void plan_rounds() {
    const std::size_t most = std::clamp<std::size_t>(plan_.max_rounds / plan_.process_rounds, 1, kMostProcesses);
    processes_ = most;
    for (std::size_t c = 0; c < bench_.case_count(); ++c) {
      CasePlan plan{launches_for(c), plan_.process_rounds};
      const double turns_ns = (estimate(Side::candidate, c) + estimate(Side::seed, c)) * double(plan.launches);
      const double affordable = plan_.budget_s * 1e9 / double(bench_.case_count()) / (turns_ns + bench_.overhead_ns(c));
      const auto rounds = [&](std::size_t processes) {
        return static_cast<std::size_t>(affordable / static_cast<double>(processes));
      };
      while (processes_ > kFirstLook && rounds(processes_) < plan_.process_rounds) --processes_;
      if (kPatience * affordable < 2 * kFewestRounds) processes_ = 1;
      plan.rounds = std::clamp(rounds(processes_), std::min(kFewestRounds, plan_.process_rounds), plan_.process_rounds);
      plans_.push_back(plan);
    }
    looks_ = looks_at(processes_);
  }

  std::optional<TimingFailure> time_process(std::size_t process) {
    double log2 = 0, variance = 0;
    for (std::size_t c = 0; c < plans_.size(); ++c) {
      CaseTiming& timing = timing_.cases[c];
      const std::size_t first = timing.candidate_ns.size();
      if (auto failure = warm_up(c, plans_[c].launches)) return failure;
      if (auto failure = time_rounds(c, process)) return failure;
      std::vector<double> ratios;
      for (std::size_t r = first; r < timing.candidate_ns.size(); ++r) {
        ratios.push_back(std::log2(double{timing.reference_ns[r]} / double{timing.candidate_ns[r]}));
      }
      log2 += median_of(ratios);
      variance += variance_of_median(ratios);
    }
    const auto cases = static_cast<double>(plans_.size());
    timing_.process_log2.push_back(log2 / cases);
    round_variances_.push_back(variance / cases / cases);
    return std::nullopt;
  }

  // The rounds of a process. Each begins and ends while the core is quiet, or is repeated, as long as patience lasts:
  // what is left out depends on the core, never on the times.
  std::optional<TimingFailure> time_rounds(std::size_t c, std::size_t process) {
    CaseTiming& timing = timing_.cases[c];
    const std::size_t rounds = plans_[c].rounds;
    std::size_t kept = 0;
    for (std::size_t attempt = 0; kept < rounds; ++attempt) {
      wait_until_quiet();
      const Clock::time_point start = Clock::now();
      const auto times = time_round(c, process, attempt);
      if (!times) return times.error();
      if (!bench_.round_counts()) {
        ++timing_.repeated_rounds;
        continue;
      }
      if (!bench_.is_quiet()) {
        const bool repeats = patience_ > Clock::duration::zero() && attempt < kMostAttempts * rounds;
        ++(repeats ? timing_.repeated_rounds : timing_.rounds.disturbed);
        patience_ -= Clock::now() - start;
        if (repeats) continue;
      }
      timing.candidate_ns.push_back(times->candidate_ns);
      timing.reference_ns.push_back(times->seed_ns);
      ++kept;
      ++timing_.rounds.kept;
    }
    return std::nullopt;
  }

  void wait_until_quiet() {
    const Clock::time_point start = Clock::now();
    while (Clock::now() - start < patience_ && !bench_.is_quiet()) {
    }
    patience_ -= Clock::now() - start;
  }

  struct RoundTimes {
    float candidate_ns = 0;
    float seed_ns = 0;
  };

  // A B, B A, A B ... A process meets each set in one round only, so that it cannot know it: rounds beyond those
  // planned take further sets. The seed gets other sets than the candidate, whose branches the processor would have
  // learned.
  Expected<RoundTimes, TimingFailure> time_round(std::size_t c, std::size_t process, std::size_t attempt) {
    const CasePlan& plan = plans_[c];
    const bool planned = attempt < plan.rounds;
    const auto sets_of = [&](Side side) {
      const std::size_t shift = side == Side::candidate ? 0 : planned ? plan.rounds / 2 : 1;
      const std::size_t group = planned ? (attempt + process + shift) % plan.rounds : 2 * attempt - plan.rounds + shift;
      const std::size_t first = plan_.check_sets + group * plan.launches;
      bench_.ensure_sets(c, std::max(first, plan_.check_sets + (plan.rounds - 1) * plan.launches) + plan.launches);
      std::vector<std::size_t> sets(plan.launches);
      std::iota(sets.begin(), sets.end(), first);
      return sets;
    };
    const bool candidate_first = timing_.cases[c].candidate_ns.size() % 2 == 0;
    RoundTimes times;
    for (const bool first : {true, false}) {
      const Side side = first == candidate_first ? Side::candidate : Side::seed;
      const auto nanoseconds = bench_.turn(side, c, sets_of(side), warm_launches(side, c));
      if (!nanoseconds) return Unexpected(TimingFailure{side, nanoseconds.error()});
      (side == Side::candidate ? times.candidate_ns : times.seed_ns) = static_cast<float>(*nanoseconds);
    }
    return times;
  }

  // Whether what more processes can tell is known well enough.
  bool look() {
    Measurement label;
    label.cases = timing_.cases;
    const auto interval = [&](double between_log2) {
      return label_interval(log2_speedup_scalar(label), timing_.process_log2, median_of(round_variances_), noise_,
                            level_of_look(looks_), between_log2);
    };
    RoundTally rounds = timing_.rounds;
    rounds += plan_.earlier;
    timing_.interval = interval(session_log2(plan_.unseen_neighbours ? 1 : rounds.disturbed_share()));
    timing_.within_session = interval(0).halfwidth();
    return timing_.within_session < plan_.target_halfwidth;
  }

  const LabelPlan& plan_;
  Clock::duration patience_ =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(plan_.patience_s));
  LabelBench& bench_;
  const ProcessNoise& noise_;
  std::vector<double> estimates_[2];
  std::vector<CasePlan> plans_;
  std::vector<double> round_variances_;
  std::size_t processes_ = 1;
  std::vector<std::size_t> looks_;
  LabelTiming timing_;
};

}  // namespace

double session_halfwidth(double disturbed_share) {
  const int degrees = static_cast<int>(kMostProcesses) - 1 + ProcessNoise::kMostDegrees;
  return student_t_quantile(level_of_look(looks_at(kMostProcesses)), degrees) * std::numbers::sqrt2 *
         session_log2(disturbed_share);
}

void add_interval(const LabelTiming& timing, Facts& facts) {
  facts["processes"] = static_cast<double>(timing.process_log2.size());
  facts["log2_low"] = timing.interval.low;
  facts["log2_high"] = timing.interval.high;
  facts["within_session_log2_halfwidth"] = timing.within_session;
}

Expected<LabelTiming, TimingFailure> time_label(const LabelPlan& plan, LabelBench& bench,
                                                std::span<const double> candidate_estimates,
                                                std::span<const double> seed_estimates, const ProcessNoise& noise) {
  return LabelTimer(plan, bench, candidate_estimates, seed_estimates, noise).run();
}

}  // namespace kc
