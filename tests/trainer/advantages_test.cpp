#include "trainer/advantages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace kc {
namespace {

constexpr TokenId kStop = 9;

RolloutGroup group_of(const std::vector<double>& totals) {
  RolloutGroup group;
  group.prompt = {1, 2};
  for (const double total : totals) {
    group.rewards.push_back({total, 0, total});
    group.samples.push_back({{3, kStop}, {-1, -2}, StopReason::stop_token});
  }
  return group;
}

TEST(Advantages, AreTheRewardsLessTheGroupsMean) {
  EXPECT_THAT(advantages(group_of({1, 0, 0, 3}), AdvantageKind::mean), testing::ElementsAre(0, -1, -1, 2));
}

TEST(Advantages, AreDividedByTheDeviationOnlyWhenAsked) {
  EXPECT_THAT(advantages(group_of({1, 0, 1, 0}), AdvantageKind::grpo_std), testing::ElementsAre(1, -1, 1, -1));
  EXPECT_THAT(advantages(group_of({2, 2}), AdvantageKind::grpo_std), testing::ElementsAre(0, 0));
}

TEST(Advantages, RefuseAGroupOfOne) { EXPECT_THROW(advantages(group_of({1}), AdvantageKind::mean), Error); }

TEST(PolicyBatch, DropsAndCountsConstantGroups) {
  const std::vector<RolloutGroup> groups{group_of({1, 0}), group_of({1, 1}), group_of({0, 0})};
  const PolicyBatch batch = make_policy_batch(groups, AdvantageKind::mean, kStop);
  EXPECT_EQ(batch.kept_groups, 1);
  EXPECT_EQ(batch.dropped_groups, 2);
  ASSERT_EQ(batch.sequences.size(), 2U);
  EXPECT_DOUBLE_EQ(batch.sequences[0].advantage, .5);
  EXPECT_EQ(batch.sequences[0].prompt, batch.sequences[1].prompt);
}

TEST(PolicyBatch, IsEmptyWhenEveryGroupIsConstant) {
  EXPECT_TRUE(make_policy_batch(std::vector<RolloutGroup>{group_of({1, 1})}, AdvantageKind::mean, kStop).empty());
}

TEST(PolicyBatch, TrainsTheStopTokenButNothingAfterIt) {
  RolloutGroup group = group_of({1, 0});
  group.samples[0] = {{3, kStop, 4, 5}, {-1, -2, -3, -4}, StopReason::max_tokens};
  const PolicyBatch batch = make_policy_batch(std::vector<RolloutGroup>{group}, AdvantageKind::mean, kStop);
  EXPECT_THAT(batch.sequences[0].tokens, testing::ElementsAre(3, kStop));
  EXPECT_THAT(batch.sequences[0].sampler_logprobs, testing::ElementsAre(-1, -2));
}

TEST(PolicyBatch, RefusesSamplesWithoutALogprobForEachToken) {
  RolloutGroup group = group_of({1, 0});
  group.samples[0].logprobs.pop_back();
  EXPECT_THROW(make_policy_batch(std::vector<RolloutGroup>{group}, AdvantageKind::mean, kStop), Error);
}

}  // namespace
}  // namespace kc
