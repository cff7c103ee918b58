#pragma once
// How far labels of one kernel lie apart: between rounds, between processes, between sessions.
#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "measure/statistics.h"

namespace kc {

// The variance of log2 S from process to process, pooled over the labels of one task: two to four processes of one
// candidate say little about it.
class ProcessNoise {
 public:
  void add(std::span<const double> process_log2);  // of one label; less than two say nothing
  double variance() const;                         // of one process's log2 S
  double degrees() const;  // that variance() counts for beside a label's own, at most kMostDegrees

  static constexpr int kMostDegrees = 6;  // candidates differ: their own processes must count

 private:
  struct Spread {
    double squares = 0;
    double degrees = 0;
  };
  std::deque<Spread> spreads_;
};

// Standard deviation of log2 S from session to session that processes of one session do not show (measured by
// bench/two_labellings; docs/measurement.md, "The interval of a label").
inline constexpr double kSessionLog2 = 0.01;
// The same where every round runs beside another user of the core's units (quiet_watch.h): how much that slows a kernel
// depends on the kernel and on what the other does.
inline constexpr double kSharedCoreLog2 = 0.15;
// Where this share of rounds does; variances add up.
double session_log2(double disturbed_share);

// Interval of a label: where the label of the same candidate in another session lies with probability 1 - `level`.
// The two labels differ by what distinguishes processes, and by what distinguishes sessions: `session_log2` each; with
// 0, another label of this session. `process_log2` by process; `round_variance` is that of one process's log2 S as its
// rounds tell it, a lower bound for candidates that are noisier than others. Student's t with the label's own degrees
// and those of `noise` (a moderated variance: Smyth, Statistical Applications in Genetics and Molecular Biology 3,
// 2004).
Interval label_interval(double log2, std::span<const double> process_log2, double round_variance,
                        const ProcessNoise& noise, double level, double session_log2 = kSessionLog2);

}  // namespace kc
