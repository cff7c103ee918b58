#include "trainer/schedule.h"

#include <gtest/gtest.h>

namespace kc {
namespace {

TEST(LearningRateSchedule, RisesStaysFlatAndFallsAsTheTableSays) {
  const LearningRateSchedule schedule{.steps = 10, .warmup_steps = 2, .flat_fraction = .6, .final_fraction = .2};
  const double expected[] = {.5, 1, 1, 1, 1, 1, .8, .6, .4, .2};
  for (std::int64_t step = 0; step < 10; ++step) EXPECT_NEAR(schedule.factor(step), expected[step], 1e-12) << step;
}

TEST(LearningRateSchedule, MovesTheWeightsAtTheFirstStep) {
  EXPECT_GT((LearningRateSchedule{.steps = 600, .warmup_steps = 30}.factor(0)), 0);
}

TEST(LearningRateSchedule, IsConstantByDefault) {
  const LearningRateSchedule schedule{.steps = 5};
  for (std::int64_t step = 0; step < 5; ++step) EXPECT_DOUBLE_EQ(schedule.factor(step), 1);
}

TEST(LinearRamp, GoesFromTheFirstStepToTheLast) {
  EXPECT_DOUBLE_EQ(linear_ramp(.015, .15, 0, 4), .015);
  EXPECT_NEAR(linear_ramp(.015, .15, 1, 4), .06, 1e-12);
  EXPECT_DOUBLE_EQ(linear_ramp(.015, .15, 3, 4), .15);
  EXPECT_DOUBLE_EQ(linear_ramp(.015, .15, 0, 1), .15);
}

}  // namespace
}  // namespace kc
