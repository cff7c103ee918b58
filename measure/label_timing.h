#pragma once
// Timing one label: interleaved rounds of a candidate and the seed, in several processes of each (docs/measurement.md,
// "Timing").
#include <optional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "forecast/measurement.h"
#include "measure/process_noise.h"
#include "measure/quiet_watch.h"
#include "measure/runner.h"

namespace kc {

enum class Side { candidate, seed };

struct TimingFailure {
  Side side = Side::candidate;
  RunnerFailure failure;
};

// What turns are taken on: processes in a session, a script in tests.
class LabelBench {
 public:
  LabelBench() = default;
  virtual ~LabelBench() = default;
  LabelBench(const LabelBench&) = delete;
  LabelBench& operator=(const LabelBench&) = delete;

  virtual std::size_t case_count() const = 0;
  virtual std::size_t most_launches(std::size_t input_case) const = 0;  // of one turn
  // Input sets 0 to `count` - 1 of a case exist from here on.
  virtual void ensure_sets(std::size_t input_case, std::size_t count) = 0;
  // Nanoseconds that a round of a case takes beside its timed launches.
  virtual double overhead_ns(std::size_t input_case) const = 0;
  // From here on a fresh process of the candidate and another one of the seed take the turns.
  virtual std::optional<TimingFailure> next_process() = 0;
  // Launches once on each of these sets, `warm_launches` untimed ones before (none where the bench sets the caches'
  // state by other means), and checks what came out. Nanoseconds per launch.
  virtual Expected<double, RunnerFailure> turn(Side side, std::size_t input_case, std::span<const std::size_t> sets,
                                               std::size_t warm_launches) = 0;
  // Whether nobody else uses the device's units at the moment, as far as can be told. Takes microseconds.
  virtual bool is_quiet() { return true; }
  // Whether the round may count whose two turns have just been taken; if not, it is taken again on other sets. What a
  // device finds wrong with a round must not depend on how fast a side was, and must end some day.
  virtual bool round_counts() { return true; }
};

inline constexpr std::size_t kFewestRounds = 3;  // of a process

struct LabelPlan {
  double budget_s = 0.25;          // of all turns
  std::size_t process_rounds = 8;  // in each process
  std::size_t max_rounds = 64;     // in all processes, of which there are at most eight
  double target_halfwidth = 0.02;  // timing stops when the interval of log2 S within this session is narrower
  double turn_ns = 120e3;          // shortest turn worth stamping: a hundred times the jitter of the hand-shake
  double patience_s = 0.05;        // beside the budget: waiting for quiet moments, and rounds repeated for want of one
  RoundTally earlier;              // of the device's labels before this one
  bool unseen_neighbours = false;  // sessions differ as if every round had been disturbed, whether it looked so or not
  std::size_t check_sets = 2;      // sets that correctness used: only for warming up
};

struct LabelTiming {
  std::vector<CaseTiming> cases;     // rounds of the first process, then of the second ...
  std::vector<double> process_log2;  // log2 S by process
  std::size_t repeated_rounds = 0;   // left out, because the core was shared at their end or they did not count
  RoundTally rounds;
  Interval interval;          // of log2 S, where the label of another session lies with 95 %
  double within_session = 0;  // halfwidth of that of another label of the same session
};

// `estimates` are coarse nanoseconds per launch, by case. The number of rounds, of processes at most, and after how
// many of them to look at the interval, follow from them before the first timed round.
Expected<LabelTiming, TimingFailure> time_label(const LabelPlan& plan, LabelBench& bench,
                                                std::span<const double> candidate_estimates,
                                                std::span<const double> seed_estimates, const ProcessNoise& noise);

// What sessions alone leave of the halfwidth of a label's interval, in log2 S, at the last of the most looks: the
// narrowest that a label gets where processes and rounds add nothing. `disturbed_share` as in session_log2.
double session_halfwidth(double disturbed_share);

// The facts processes, log2_low, log2_high and within_session_log2_halfwidth.
void add_interval(const LabelTiming& timing, Facts& facts);

}  // namespace kc
