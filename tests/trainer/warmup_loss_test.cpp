#include "trainer/warmup_loss_torch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_sampler.h"
#include "tests/trainer/tiny_run.h"
#include "trainer/optimizer_torch.h"

namespace kc {
namespace {

using test::TinyRun;

struct WarmupGradients {
  WarmupLossReport report;
  std::map<std::string, at::Tensor> of;
};

WarmupGradients warmup_gradients(TinyRun& run, const WarmupBatch& batch, std::int64_t rows) {
  run.model.weights().require_grad(true);
  zero_gradients(run.model.weights());
  WarmupGradients result{
      accumulate_warmup_gradient(run.model.config(), run.model.weights(), run.encoder, batch, {rows}), {}};
  for (const auto& [name, value] : run.model.weights().tensors) result.of[name] = value.grad().clone();
  zero_gradients(run.model.weights());
  run.model.weights().require_grad(false);
  return result;
}

WarmupBatch mixed_batch(const std::vector<TrainingExample>& examples) {
  WarmupBatch batch;
  batch.examples = examples;
  batch.answers = {{2, probability_steps(uniform_probabilities())}, {5, probability_steps(one_hot(5))}};
  batch.probability_weight = 0.3;
  return batch;
}

TEST(WarmupGradient, DoesNotDependOnMicroBatches) {
  TinyRun run("unused");
  const auto examples = run.examples.batch(0, 6);
  const WarmupGradients whole = warmup_gradients(run, mixed_batch(examples), 64);
  for (const std::int64_t rows : {1, 4}) {
    const WarmupGradients split = warmup_gradients(run, mixed_batch(examples), rows);
    EXPECT_NEAR(split.report.bin_loss, whole.report.bin_loss, 1e-5);
    EXPECT_NEAR(split.report.probability_loss, whole.report.probability_loss, 1e-5);
    for (const auto& [name, value] : whole.of) {
      const double scale = value.abs().max().item().toDouble();
      EXPECT_LT(value.sub(split.of.at(name)).abs().max().item().toDouble(), 1e-3 * scale + 1e-6) << name;
    }
  }
}

TEST(WarmupGradient, IsOfTheCrossEntropyOverTheWholeVocabulary) {
  TinyRun run("unused");
  const auto examples = run.examples.batch(0, 8);
  WarmupBatch batch;
  batch.examples = examples;
  const auto report = warmup_gradients(run, batch, 64).report;
  std::vector<std::vector<TokenId>> prompts;
  for (const TrainingExample& example : examples) prompts.push_back(example.prompt);
  const auto logprobs = run.model.sampler().next_token_logprobs(prompts, run.encoder.bin_tokens(), {});
  double expected = 0;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    expected -= logprobs[i][static_cast<std::size_t>(examples[i].truth - 1)] / 8.0;
  }
  EXPECT_NEAR(report.bin_loss, expected, 1e-4);
  EXPECT_DOUBLE_EQ(report.probability_loss, 0);
}

TEST(WarmupGradient, LeavesTheAnswersOutAtWeightZero) {
  TinyRun run("unused");
  const auto examples = run.examples.batch(0, 6);
  WarmupBatch with = mixed_batch(examples), without = mixed_batch(examples);
  with.probability_weight = 0;
  without.answers.clear();
  const WarmupGradients a = warmup_gradients(run, with, 64), b = warmup_gradients(run, without, 64);
  EXPECT_GT(a.report.probability_loss, 1);
  for (const auto& [name, value] : a.of) {
    EXPECT_LT(value.sub(b.of.at(name)).abs().max().item().toDouble(), 1e-5) << name;
  }
}

TEST(AnswerTargets, RoundTheModelsOwnForecastAndDrawTheStatedBinFromIt) {
  FakeSampler sampler;
  sampler.logprobs = [](const auto&) {
    return std::vector<float>{-30, std::log(.25F), -30, -30, -30, -30, std::log(.75F), -30};
  };
  const PromptEncoder encoder = test::tiny_encoder();
  const std::vector<TrainingExample> examples(400, test::ToyExamples::example(1, 0));
  const auto answers = answer_targets(sampler, encoder, examples, 400, RngStream(3));
  ASSERT_EQ(answers.size(), 400U);
  int seventh = 0;
  for (const AnswerTarget& answer : answers) {
    EXPECT_THAT(answer.steps, testing::ElementsAre(0, 5, 0, 0, 0, 0, 15, 0));
    EXPECT_THAT(answer.stated_bin, testing::AnyOf(2, 7));
    seventh += answer.stated_bin == 7 ? 1 : 0;
  }
  EXPECT_NEAR(seventh / 400.0, .75, .07);
}

}  // namespace
}  // namespace kc
