// Losses over blocks of logits: the same values and gradients as over all of them at once.
#include <gtest/gtest.h>

#include "tests/trainer/tiny_run.h"
#include "trainer/advantages.h"
#include "trainer/optimizer_torch.h"
#include "trainer/policy_loss_torch.h"
#include "trainer/sequence_batch_torch.h"
#include "trainer/warmup_loss_torch.h"

namespace kc {
namespace {

using test::TinyRun;
using Gradients = std::map<std::string, at::Tensor>;

template <class Accumulate>
Gradients gradients_of(TinyRun& run, const Accumulate& accumulate) {
  GptOssWeights& weights = run.model.weights();
  weights.require_grad(true);
  zero_gradients(weights);
  accumulate();
  Gradients gradients;
  for (const auto& [name, value] : weights.trainable()) gradients[name] = value.grad().clone();
  zero_gradients(weights);
  weights.require_grad(false);
  return gradients;
}

void expect_close(const Gradients& a, const Gradients& b) {
  for (const auto& [name, value] : a) {
    const double scale = value.abs().max().item().toDouble();
    EXPECT_LE(value.sub(b.at(name)).abs().max().item().toDouble(), 2e-5 * scale + 1e-8) << name;
  }
}

TEST(LogitBlocks, ChangeNothingButRoundingInTheWarmStart) {
  TinyRun run("unused");
  const auto examples = run.examples.batch(0, 6);
  WarmupBatch batch;
  batch.examples = examples;
  batch.answers = {{2, probability_steps(uniform_probabilities())}, {5, probability_steps(one_hot(5))}};
  batch.probability_weight = 0.3;
  WarmupLossReport whole;
  const Gradients wanted = gradients_of(run, [&] {
    whole = accumulate_warmup_gradient(run.model.config(), run.model.weights(), run.encoder, batch, {64, 0});
  });
  for (const std::int64_t rows : {1, 3, 7}) {
    WarmupLossReport report;
    expect_close(wanted, gradients_of(run, [&] {
                   report = accumulate_warmup_gradient(run.model.config(), run.model.weights(), run.encoder, batch,
                                                       {64, rows});
                 }));
    EXPECT_NEAR(report.bin_loss, whole.bin_loss, 1e-6);
    EXPECT_NEAR(report.probability_loss, whole.probability_loss, 1e-6);
    EXPECT_EQ(report.accuracy, whole.accuracy);
  }
}

PolicyBatch some_batch(const TinyRun& run, bool direct) {
  PolicyBatch batch;
  RngStream rng(3);
  for (const TrainingExample& example : run.examples.batch(0, 3)) {
    for (int i = 0; i < 4; ++i) {
      PolicySequence s{example.prompt, {}, {}, rng.normal()};
      for (int k = 0; k < (direct ? 1 : 2 + i); ++k) {
        s.tokens.push_back(
            direct ? run.encoder.bin_tokens()[rng.below(8)]
                   : static_cast<TokenId>(rng.below(static_cast<std::uint64_t>(run.model.config().vocab_size))));
        s.sampler_logprobs.push_back(-5.5F);
      }
      batch.sequences.push_back(std::move(s));
    }
  }
  return batch;
}

TEST(LogitBlocks, ChangeNothingButRoundingInThePolicyGradient) {
  for (const bool direct : {false, true}) {
    TinyRun run("unused");
    const PolicyBatch batch = some_batch(run, direct);
    PolicyLossOptions options{1.3, 64, {}, 0};
    if (direct) options.answers = run.encoder.bin_tokens();
    PolicyLossReport whole;
    const auto accumulate = [&] {
      return accumulate_policy_gradient(run.model.config(), run.model.weights(), batch, options);
    };
    const Gradients wanted = gradients_of(run, [&] { whole = accumulate(); });
    for (const std::int64_t rows : {1, 2, 5}) {
      options.block_rows = rows;
      PolicyLossReport report;
      expect_close(wanted, gradients_of(run, [&] { report = accumulate(); }));
      EXPECT_NEAR(report.loss, whole.loss, 1e-5);
      EXPECT_EQ(report.trained_tokens, whole.trained_tokens);
      EXPECT_NEAR(report.kl_sample_train, whole.kl_sample_train, 1e-6);
      EXPECT_NEAR(report.max_abs_dlogp, whole.max_abs_dlogp, 1e-6);
    }
  }
}

TEST(LogitBlocks, NeverHoldMoreRowsThanAskedFor) {
  TinyRun run("unused");
  std::vector<TargetSequence> sequences;
  for (const TrainingExample& example : run.examples.batch(0, 4))
    sequences.push_back(TargetSequence::after_prompt(example.prompt, {3, 4, 5}));
  const std::vector<std::size_t> chosen = {0, 1, 2, 3};
  std::vector<std::int64_t> seen;
  gradients_of(run, [&] {
    accumulate_over_logits(run.model.config(), run.model.weights(), sequences, chosen, 5,
                           [&](const at::Tensor& logits, const RowBlock& rows) {
                             EXPECT_EQ(logits.size(0), rows.count);
                             seen.push_back(rows.count);
                             return logits.sum();
                           });
  });
  EXPECT_EQ(seen, (std::vector<std::int64_t>{5, 5, 2}));
}

}  // namespace
}  // namespace kc
