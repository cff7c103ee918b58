#include "trainer/schedule.h"

#include <algorithm>

namespace kc {

double linear_ramp(double start, double end, std::int64_t step, std::int64_t steps) {
  if (steps <= 1) return end;
  const double share = static_cast<double>(step) / static_cast<double>(steps - 1);
  return start + (end - start) * std::clamp(share, 0.0, 1.0);
}

double LearningRateSchedule::factor(std::int64_t step) const {
  const double rising =
      warmup_steps > 0 ? std::min(1.0, static_cast<double>(step + 1) / static_cast<double>(warmup_steps)) : 1.0;
  const auto flat_end = static_cast<std::int64_t>(flat_fraction * static_cast<double>(steps));
  if (step < flat_end || steps <= flat_end) return rising;
  return rising * linear_ramp(1.0, final_fraction, step + 1 - flat_end, steps - flat_end + 1);
}

}  // namespace kc
