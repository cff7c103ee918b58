#pragma once
// How certain the speedup of a measurement is (docs/measurement.md, "The interval of a label").
#include <optional>

#include "forecast/measurement.h"

namespace kc {

struct Log2Interval {
  double low = 0;
  double high = 0;
  bool contains(double log2) const { return low <= log2 && log2 <= high; }
};

// The facts log2_low and log2_high that the harness stores, where a measurement has them.
std::optional<Log2Interval> stored_interval(const Measurement& measurement);

// Where log2 S of the same kernel lies with 95 % when it is measured again in another session: stored_interval; for
// measurements without them a wider one, from the spread of the rounds and the
// run's noise floor. Error{bad_data} as log2_speedup_scalar.
Log2Interval log2_speedup_interval(const Measurement& measurement);

// The same for log2 of how much faster `candidate` is than `reference`, both measured against the same seed.
Log2Interval log2_ratio_interval(const Measurement& candidate, const Measurement& reference);

// Half the width of where log2 S lies when the kernel is measured again in the same session, with 95 %: what matters to
// a comparison of kernels that were timed together. The fact within_session_log2_halfwidth; nothing without it.
std::optional<double> halfwidth_within_session(const Measurement& measurement);

}  // namespace kc
