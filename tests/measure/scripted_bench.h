#pragma once
// Turns without processes: times follow a script, so that faults of timing can be provoked at will.
#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "measure/label_timing.h"

namespace kc::test {

struct TurnContext {
  Side side = Side::candidate;
  std::size_t process = 0;
  std::size_t turn = 0;  // since the start, both sides
  std::size_t launches = 0;
  std::size_t warm_launches = 0;
  bool is_warm_up = false;  // on the sets of the correctness check
};

class ScriptedBench : public LabelBench {
 public:
  // Nanoseconds per launch, or a failure, of each turn.
  using Script = std::function<Expected<double, RunnerFailure>(const TurnContext&)>;
  explicit ScriptedBench(Script script) : script_(std::move(script)) {}

  std::size_t case_count() const override { return 1; }
  std::size_t most_launches(std::size_t) const override { return 64; }
  void ensure_sets(std::size_t, std::size_t count) override { sets_made = std::max(sets_made, count); }
  double overhead_ns(std::size_t) const override { return 250e3; }
  std::optional<TimingFailure> next_process() override {
    seen_.clear();
    ++process_;
    return std::nullopt;
  }
  Expected<double, RunnerFailure> turn(Side side, std::size_t, std::span<const std::size_t> sets,
                                       std::size_t warm_launches) override {
    const bool is_warm_up = sets[0] < 2;
    if (side == Side::candidate && !is_warm_up) {
      for (const std::size_t set : sets) repeated = repeated || !seen_.insert(set).second;
    }
    if (!is_warm_up) order.push_back(side);
    return script_({side, process_, turns_++, sets.size(), warm_launches, is_warm_up});
  }

  bool round_counts() override { return !counts || counts(); }
  bool is_quiet() override { return !quiet || quiet(looks++); }

  std::size_t processes() const { return process_ + 1; }
  std::size_t sets_made = 0;
  bool repeated = false;  // a process was given a set twice
  std::vector<Side> order;
  std::function<bool(std::size_t look)> quiet;  // empty: always
  std::size_t looks = 0;
  std::function<bool()> counts;  // of the round that was just taken; empty: always

 private:
  Script script_;
  std::size_t process_ = 0;
  std::size_t turns_ = 0;
  std::set<std::size_t> seen_;
};

// log2 S of a scripted candidate, and its interval.
struct ScriptedLabel {
  double log2 = 0;
  Interval interval;
  std::size_t rounds = 0;
  std::size_t processes = 0;
  std::size_t repeated_rounds = 0;
  std::size_t disturbed_rounds = 0;
  double within_session = 0;
};

inline ScriptedLabel label_of(ScriptedBench& bench, const LabelPlan& plan = {}, const ProcessNoise& noise = {},
                              double candidate_estimate = 1e5, double seed_estimate = 1e5) {
  const auto timing = time_label(plan, bench, std::span(&candidate_estimate, 1), std::span(&seed_estimate, 1), noise);
  if (!timing) throw std::runtime_error(timing.error().failure.log);
  Measurement measurement;
  measurement.cases = timing->cases;
  return {log2_speedup_scalar(measurement),
          timing->interval,
          timing->cases[0].candidate_ns.size(),
          timing->process_log2.size(),
          timing->repeated_rounds,
          timing->rounds.disturbed,
          timing->within_session};
}

}  // namespace kc::test
