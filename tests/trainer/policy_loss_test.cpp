#include "trainer/policy_loss_torch.h"

#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/trainer/tiny_run.h"
#include "trainer/optimizer_torch.h"
#include "trainer/sequence_batch_torch.h"

namespace kc {
namespace {

using test::TinyRun;

at::Tensor doubles(const std::vector<double>& values) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::TensorOptions(at::kDouble));
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<double>());
  return tensor;
}

TEST(ImportanceSamplingLoss, IsTheSumOfRatioTimesAdvantage) {
  const at::Tensor loss = importance_sampling_loss(doubles({-1, -2}), doubles({-1.5, -2}), doubles({2, -1}));
  EXPECT_NEAR(loss.item().toDouble(), -(std::exp(.5) * 2 - 1), 1e-12);
}

TEST(ImportanceSamplingLoss, HasTheGradientOfFiniteDifferences) {
  const std::vector<double> logp{-1, -2, -.3}, sampler{-1.5, -1.9, -.3}, advantage{2, -1, .5};
  at::Tensor leaf = doubles(logp).requires_grad_(true);
  importance_sampling_loss(leaf, doubles(sampler), doubles(advantage)).backward();
  for (std::size_t i = 0; i < logp.size(); ++i) {
    const auto at_offset = [&](double offset) {
      std::vector<double> moved = logp;
      moved[i] += offset;
      return importance_sampling_loss(doubles(moved), doubles(sampler), doubles(advantage)).item().toDouble();
    };
    const double numeric = (at_offset(1e-6) - at_offset(-1e-6)) / 2e-6;
    EXPECT_NEAR(leaf.grad().select(0, static_cast<std::int64_t>(i)).item().toDouble(), numeric, 1e-8);
  }
}

TEST(ImportanceSamplingLoss, HasTheGradientOfReinforceAtRatioOne) {
  const std::vector<double> logp{-1, -2}, advantage{2, -1};
  at::Tensor leaf = doubles(logp).requires_grad_(true);
  importance_sampling_loss(leaf, doubles(logp), doubles(advantage)).backward();
  EXPECT_TRUE(leaf.grad().equal(doubles({-2, 1})));
}

// Rollouts of the tiny model with made-up rewards, so that every group has a signal.
PolicyBatch sampled_batch(TinyRun& run, WireFormat wire, double temperature = 1.0) {
  std::vector<RolloutItem> items;
  for (const TrainingExample& example : run.examples.batch(0, 3)) items.push_back({example.prompt, example.truth});
  auto groups = collect_rollouts(run.model.sampler(), run.encoder, items, {4, temperature, wire}, {}, RngStream(3), {});
  for (RolloutGroup& group : groups) {
    for (std::size_t i = 0; i < 4; ++i) group.rewards[i].total = static_cast<double>(i);
  }
  return make_policy_batch(groups, AdvantageKind::mean, run.encoder.stop_token());
}

struct PolicyGradients {
  PolicyLossReport report;
  std::map<std::string, at::Tensor> of;
};

PolicyGradients gradients(TinyRun& run, const PolicyBatch& batch, const PolicyLossOptions& options) {
  run.model.weights().require_grad(true);
  zero_gradients(run.model.weights());
  PolicyGradients result{accumulate_policy_gradient(run.model.config(), run.model.weights(), batch, options), {}};
  for (const auto& [name, value] : run.model.weights().tensors) result.of[name] = value.grad().clone();
  zero_gradients(run.model.weights());
  run.model.weights().require_grad(false);
  return result;
}

void expect_close(const PolicyGradients& a, const PolicyGradients& b) {
  double largest = 0;
  for (const auto& [name, value] : a.of) largest = std::max(largest, value.abs().max().item().toDouble());
  ASSERT_GT(largest, 0);
  for (const auto& [name, value] : a.of) {
    EXPECT_LT(value.sub(b.of.at(name)).abs().max().item().toDouble(), 1e-4 * largest) << name;
  }
}

TEST(PolicyGradient, SeesRatioOneOnFreshRollouts) {
  TinyRun run("unused");
  for (const double temperature : {1.0, 0.6}) {
    const PolicyBatch batch = sampled_batch(run, WireFormat::compact, temperature);
    const PolicyGradients result = gradients(run, batch, {temperature, 32, {}});
    EXPECT_LT(result.report.max_abs_dlogp, 1e-4);
    EXPECT_NEAR(result.report.kl_sample_train, 0, 1e-5);
  }
}

TEST(PolicyGradient, SeesRatioOneUnderDirectAsWell) {
  TinyRun run("unused", WireFormat::direct);
  const PolicyBatch batch = sampled_batch(run, WireFormat::direct);
  const PolicyGradients result = gradients(run, batch, {1.0, 32, run.encoder.bin_tokens()});
  EXPECT_LT(result.report.max_abs_dlogp, 1e-4);
  EXPECT_EQ(result.report.trained_tokens, 12);
}

TEST(PolicyGradient, DoesNotDependOnMicroBatches) {
  TinyRun run("unused");
  const PolicyBatch batch = sampled_batch(run, WireFormat::compact);
  const PolicyGradients whole = gradients(run, batch, {1.0, 64, {}});
  for (const std::int64_t rows : {1, 5}) {
    const PolicyGradients split = gradients(run, batch, {1.0, rows, {}});
    expect_close(whole, split);
    EXPECT_EQ(split.report.trained_tokens, whole.report.trained_tokens);
    EXPECT_NEAR(split.report.loss, whole.report.loss, 1e-4);
  }
}

TEST(PolicyGradient, SharesARowBetweenEqualSequencesWithoutChangingTheSum) {
  TinyRun run("unused");
  const PolicyBatch batch = sampled_batch(run, WireFormat::compact);
  PolicyBatch twice = batch, doubled = batch;
  twice.sequences.insert(twice.sequences.end(), batch.sequences.begin(), batch.sequences.end());
  for (PolicySequence& sequence : doubled.sequences) sequence.advantage *= 2;
  const PolicyGradients shared = gradients(run, twice, {1.0, 64, {}});
  expect_close(gradients(run, doubled, {1.0, 64, {}}), shared);
  EXPECT_EQ(shared.report.forward_tokens, gradients(run, batch, {1.0, 64, {}}).report.forward_tokens);
}

TEST(TargetSequence, PredictsTheAnswerAndNothingOfThePrompt) {
  const TargetSequence sequence = TargetSequence::after_prompt({1, 2, 3}, {7, 8, 9});
  EXPECT_THAT(sequence.input, testing::ElementsAre(1, 2, 3, 7, 8));
  EXPECT_EQ(sequence.first_target, 2);
  EXPECT_EQ(sequence.targets.size(), 3U);
}

TEST(MicroBatches, HoldEverySequenceOnceWithLikeLengthsTogether) {
  std::vector<TargetSequence> sequences;
  for (const std::size_t length : {5U, 2U, 9U, 2U, 7U}) {
    sequences.push_back({std::vector<TokenId>(length, 1), {1}, 0});
  }
  EXPECT_THAT(micro_batches(sequences, 2),
              testing::ElementsAre(testing::ElementsAre(1, 3), testing::ElementsAre(0, 4), testing::ElementsAre(2)));
}

}  // namespace
}  // namespace kc
