#pragma once
// Schedules count steps, never time: a resumed run sees the same values. Steps count from 0.
#include <cstdint>

namespace kc {

// Factor of the learning rate: (step + 1) / warmup_steps while warming up (so step 0 moves the weights), 1 until
// flat_fraction of all steps, then linear down to final_fraction at the last step.
struct LearningRateSchedule {
  std::int64_t steps = 0;  // of the whole stage
  std::int64_t warmup_steps = 0;
  double flat_fraction = 1.0;
  double final_fraction = 1.0;

  double factor(std::int64_t step) const;
};

// From `start` at step 0 linearly to `end` at the last of `steps`.
double linear_ramp(double start, double end, std::int64_t step, std::int64_t steps);

}  // namespace kc
