#include "rollout/rollout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/rollout/support.h"

namespace kc {
namespace {

const std::vector<RolloutItem> kItems{{{1, 2, 3}, 4}, {{5, 6}, 1}};

std::vector<RolloutGroup> groups_of(Sampler& sampler, const RolloutOptions& options, const RewardOptions& reward) {
  const PromptEncoder encoder = byte_encoder();
  return collect_rollouts(sampler, encoder, kItems, options, reward, RngStream(7), {});
}

TEST(CollectRollouts, AsksForAllSamplesOfAGroupFromOnePrompt) {
  FakeSampler sampler;
  sampler.answer = [](const SampleRequest&, std::int64_t) { return certain_answer(4); };
  const auto groups = groups_of(sampler, {.group_size = 5}, {});
  ASSERT_EQ(sampler.requests.size(), kItems.size());
  for (std::size_t i = 0; i < kItems.size(); ++i) {
    EXPECT_EQ(sampler.requests[i].count, 5);
    EXPECT_EQ(sampler.requests[i].prompt, kItems[i].prompt);
    EXPECT_EQ(groups[i].prompt, kItems[i].prompt);
    EXPECT_EQ(groups[i].samples.size(), 5U);
    EXPECT_EQ(groups[i].rewards.size(), 5U);
  }
}

TEST(CollectRollouts, RefusesGroupsOfOneAndGreedySampling) {
  FakeSampler sampler;
  EXPECT_THROW(groups_of(sampler, {.group_size = 1}, {}), Error);
  EXPECT_THROW(groups_of(sampler, {.group_size = 8, .temperature = 0}, {}), Error);
}

TEST(CollectRollouts, RewardsWhatWasStated) {
  FakeSampler sampler;
  sampler.answer = [](const SampleRequest&, std::int64_t i) {
    return i == 0 ? certain_answer(4) : i == 1 ? certain_answer(5) : sample_of("<|stop|>");
  };
  const auto groups = groups_of(sampler, {.group_size = 3}, {RewardKind::correctness_brier, 1.0, CrpsScale::plain});
  EXPECT_DOUBLE_EQ(groups[0].rewards[0].total, 2.0);
  EXPECT_DOUBLE_EQ(groups[0].rewards[1].total, 0.0);
  EXPECT_DOUBLE_EQ(groups[0].rewards[2].total, 0.0);
  EXPECT_FALSE(groups[0].is_constant());
  EXPECT_TRUE(groups[1].is_constant());
}

TEST(CollectRollouts, SamplesTheBinFromTheRenormalisedAnswersUnderDirect) {
  FakeSampler sampler;
  sampler.logprobs = [](const auto&) { return logs({.1, .3, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9}); };
  const auto groups = groups_of(sampler, {.group_size = 2000, .wire = WireFormat::direct}, {});
  const PromptEncoder encoder = byte_encoder();
  int of_second = 0;
  for (std::size_t i = 0; i < 2000; ++i) {
    const Sample& sample = groups[0].samples[i];
    ASSERT_EQ(sample.tokens.size(), 1U);
    ASSERT_TRUE(groups[0].forecasts[i]);
    const Bin bin = groups[0].forecasts[i]->predicted_bin;
    EXPECT_EQ(sample.tokens[0], encoder.bin_tokens()[bin - 1]);
    EXPECT_NEAR(sample.logprobs[0], std::log(bin == 2 ? .75 : .25), 1e-5);
    EXPECT_NEAR(groups[0].forecasts[i]->p[1], .75, 1e-6);
    of_second += bin == 2 ? 1 : 0;
  }
  EXPECT_NEAR(of_second / 2000.0, .75, .04);
}

TEST(RolloutMetrics, CountEverySampleBeforeAnyGroupIsDropped) {
  FakeSampler sampler;
  sampler.answer = [](const SampleRequest& request, std::int64_t i) {
    if (request.prompt.size() == 2) return certain_answer(8);  // a constant group
    return i == 0 ? certain_answer(4) : sample_of("<|bin_1|>", StopReason::max_tokens);
  };
  const RewardOptions reward{RewardKind::correctness, 1.0, CrpsScale::plain};
  const auto metrics = rollout_metrics(groups_of(sampler, {.group_size = 2}, reward), reward);
  EXPECT_DOUBLE_EQ(metrics.at("reward/total"), 0.25);
  EXPECT_DOUBLE_EQ(metrics.at("reward/correct"), 0.25);
  EXPECT_DOUBLE_EQ(metrics.at("parse/ok"), 3);
  EXPECT_DOUBLE_EQ(metrics.at("parse/truncated"), 1);
  EXPECT_DOUBLE_EQ(metrics.at("parse/no_stop"), 0);
  EXPECT_DOUBLE_EQ(metrics.at("forecast/confidence"), 1.0);
  EXPECT_DOUBLE_EQ(metrics.at("forecast/distinct"), 2);
  EXPECT_DOUBLE_EQ(metrics.at("tokens/sampled"), 31);
  EXPECT_DOUBLE_EQ(metrics.at("policy/entropy"), 0.5);
  EXPECT_DOUBLE_EQ(metrics.at("reward/variance_share_correct"), 1.0);
}

TEST(RolloutMetrics, ShareTheVarianceBetweenTheWeightedComponents) {
  RolloutGroup group;
  group.rewards = {{1, .2, 1.2}, {0, .0, 0}};
  const RewardOptions reward{RewardKind::correctness_brier, 5.0, CrpsScale::plain};
  const auto metrics = rollout_metrics(std::vector<RolloutGroup>{group}, reward);
  EXPECT_NEAR(metrics.at("reward/variance_share_calibration"), 0.5, 1e-12);
}

TEST(RolloutMetrics, NoticeAStatedBinThatIsNotTheArgmax) {
  FakeSampler sampler;
  sampler.answer = [](const SampleRequest&, std::int64_t) {
    return sample_of(compact_text(1, probability_steps(one_hot(2))));
  };
  const auto metrics = rollout_metrics(groups_of(sampler, {.group_size = 2}, {}), {});
  EXPECT_DOUBLE_EQ(metrics.at("forecast/predicted_not_argmax"), 1.0);
}

}  // namespace
}  // namespace kc
