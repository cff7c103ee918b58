#include <ATen/core/grad_mode.h>

#include "rollout/policy_forecaster.h"
#include "trainer/sequence_batch_torch.h"
#include "trainer/warmup_loss_torch.h"

namespace kc {
namespace {

// Draws from p by its first `uniform` share of mass.
Bin bin_at(const Probabilities& p, double uniform) {
  Bin bin = 1;
  for (double rest = uniform - p[0]; bin < kBins && rest >= 0; ++bin) rest -= p[bin];
  return bin;
}

TargetSequence target_sequence(const PromptEncoder& encoder, const WarmupBatch& batch, std::size_t i) {
  const TrainingExample& example = batch.examples[i];
  std::vector<TokenId> answer{encoder.bin_tokens()[example.truth - 1]};
  if (i >= batch.answers.size()) return TargetSequence::after_prompt(example.prompt, answer);
  for (const int step : batch.answers[i].steps) answer.push_back(encoder.probability_tokens()[step]);
  answer.push_back(encoder.stop_token());
  TargetSequence sequence = TargetSequence::after_prompt(example.prompt, answer);
  sequence.input[example.prompt.size()] = encoder.bin_tokens()[batch.answers[i].stated_bin - 1];
  return sequence;
}

// Per-token weights of one micro-batch: each token's share in the mean over the whole batch, apart for bins and the
// rest.
struct TokenWeights {
  std::vector<TokenId> targets;
  std::vector<float> bin;
  std::vector<float> probability;
  std::vector<TokenId> bin_rows;  // rows of the logits that predict a bin
  std::vector<TokenId> bin_labels;
};

TokenWeights token_weights(const WarmupBatch& batch, std::span<const TargetSequence> sequences,
                           std::span<const std::size_t> chosen) {
  const float bin_share = 1.0F / static_cast<float>(batch.examples.size());
  const float probability_share = 1.0F / static_cast<float>(batch.answers.size() * (kCompactTokens - 1));
  TokenWeights weights;
  for (const std::size_t i : chosen) {
    weights.bin_rows.push_back(static_cast<TokenId>(weights.targets.size()));
    weights.bin_labels.push_back(batch.examples[i].truth - 1);
    for (std::size_t k = 0; k < sequences[i].targets.size(); ++k) {
      weights.targets.push_back(sequences[i].targets[k]);
      weights.bin.push_back(k == 0 ? bin_share : 0.0F);
      weights.probability.push_back(k == 0 ? 0.0F : probability_share);
    }
  }
  return weights;
}

double right_answers(const at::Tensor& logits_NV, const TokenWeights& weights, const PromptEncoder& encoder) {
  at::NoGradGuard no_grad;
  const at::Tensor bins_N8 = logits_NV.index_select(0, id_tensor(weights.bin_rows, logits_NV))
                                 .index_select(1, id_tensor(encoder.bin_tokens(), logits_NV));
  return bins_N8.argmax(1).eq(id_tensor(weights.bin_labels, logits_NV)).sum().item().toDouble();
}

}  // namespace

WarmupLossReport accumulate_warmup_gradient(const GptOssConfig& config, const GptOssWeights& weights,
                                            const PromptEncoder& encoder, const WarmupBatch& batch,
                                            const WarmupLossOptions& options) {
  std::vector<TargetSequence> sequences;
  WarmupLossReport report;
  for (std::size_t i = 0; i < batch.examples.size(); ++i) {
    sequences.push_back(target_sequence(encoder, batch, i));
    report.forward_tokens += static_cast<std::int64_t>(sequences.back().input.size());
  }
  for (const std::vector<std::size_t>& chosen : micro_batches(sequences, options.micro_batch_rows)) {
    const TokenWeights shares = token_weights(batch, sequences, chosen);
    const at::Tensor logits = target_logits(config, weights, sequences, chosen);
    const at::Tensor surprise = target_logprobs(logits, id_tensor(shares.targets, logits)).neg();
    const at::Tensor bin_loss = surprise.mul(value_tensor(shares.bin, logits)).sum();
    const at::Tensor probability_loss = surprise.mul(value_tensor(shares.probability, logits)).sum();
    bin_loss.add(probability_loss, batch.probability_weight).backward();
    report.bin_loss += bin_loss.item().toDouble();
    report.probability_loss += probability_loss.item().toDouble();
    report.accuracy += right_answers(logits, shares, encoder) / static_cast<double>(batch.examples.size());
  }
  return report;
}

std::vector<AnswerTarget> answer_targets(Sampler& sampler, const PromptEncoder& encoder,
                                         std::span<const TrainingExample> examples, std::int64_t rows, RngStream rng) {
  std::vector<AnswerTarget> answers;
  if (rows <= 0) return answers;
  std::vector<std::vector<TokenId>> prompts;
  for (const TrainingExample& example : examples.first(static_cast<std::size_t>(rows))) {
    prompts.push_back(example.prompt);
  }
  for (const std::vector<float>& logprobs : sampler.next_token_logprobs(prompts, encoder.bin_tokens(), {})) {
    const Probabilities p = read_direct(logprobs).p;
    answers.push_back({bin_at(p, rng.uniform()), probability_steps(p)});
  }
  return answers;
}

}  // namespace kc
