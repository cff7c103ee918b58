#include <algorithm>

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

// A row's sequence and the place of the bin among its targets.
struct Target {
  TargetSequence sequence;
  std::size_t bin_at = 0;
};

// A call of the tool is learnt whole, from the label alone: it has no other tokens for its probabilities than numbers.
Target call_target(const PromptEncoder& encoder, const TrainingExample& example) {
  const AnswerTokens answer = encoder.answer(example.truth, label_probabilities(example.truth));
  return {TargetSequence::after_prompt(example.prompt, answer.tokens), answer.bin_at};
}

Target target_of(const PromptEncoder& encoder, const WarmupBatch& batch, std::size_t i) {
  const TrainingExample& example = batch.examples[i];
  if (encoder.wire() == WireFormat::tool) return call_target(encoder, example);
  const std::vector<TokenId> prompt = encoder.direct_prompt(example.prompt);
  std::vector<TokenId> answer{encoder.bin_tokens()[example.truth - 1]};
  if (i >= batch.answers.size()) return {TargetSequence::after_prompt(prompt, answer), 0};
  for (const int step : batch.answers[i].steps) answer.push_back(encoder.probability_tokens()[step]);
  answer.push_back(encoder.stop_token());
  TargetSequence sequence = TargetSequence::after_prompt(prompt, answer);
  sequence.input[prompt.size()] = encoder.bin_tokens()[batch.answers[i].stated_bin - 1];
  return {std::move(sequence), 0};
}

struct Targets {
  std::vector<TargetSequence> sequences;
  std::vector<std::size_t> bin_at;
  std::int64_t other_tokens = 0;  // trained ones that are no bin
};

Targets targets_of(const PromptEncoder& encoder, const WarmupBatch& batch) {
  Targets targets;
  for (std::size_t i = 0; i < batch.examples.size(); ++i) {
    Target target = target_of(encoder, batch, i);
    targets.other_tokens += static_cast<std::int64_t>(target.sequence.targets.size()) - 1;
    targets.bin_at.push_back(target.bin_at);
    targets.sequences.push_back(std::move(target.sequence));
  }
  return targets;
}

// Per-token weights of one micro-batch: each token's share in the mean over the whole batch, apart for bins and the
// rest.
struct TokenWeights {
  std::vector<TokenId> targets;
  std::vector<float> bin;
  std::vector<float> other;
  std::vector<int> label;  // bin - 1 at bins, -1 elsewhere
};

TokenWeights token_weights(const WarmupBatch& batch, const Targets& all, std::span<const std::size_t> chosen) {
  const float bin_share = 1.0F / static_cast<float>(batch.examples.size());
  const float other_share = 1.0F / static_cast<float>(std::max<std::int64_t>(1, all.other_tokens));
  TokenWeights weights;
  for (const std::size_t i : chosen) {
    for (std::size_t k = 0; k < all.sequences[i].targets.size(); ++k) {
      const bool bin = k == all.bin_at[i];
      weights.targets.push_back(all.sequences[i].targets[k]);
      weights.bin.push_back(bin ? bin_share : 0.0F);
      weights.other.push_back(bin ? 0.0F : other_share);
      weights.label.push_back(bin ? batch.examples[i].truth - 1 : -1);
    }
  }
  return weights;
}

template <class T>
std::span<const T> part(const std::vector<T>& values, const RowBlock& rows) {
  return std::span<const T>(values).subspan(static_cast<std::size_t>(rows.first), static_cast<std::size_t>(rows.count));
}

double right_answers(const at::Tensor& logits_NV, std::span<const int> label, const PromptEncoder& encoder) {
  at::NoGradGuard no_grad;
  std::vector<TokenId> rows;
  std::vector<TokenId> labels;
  for (std::size_t i = 0; i < label.size(); ++i) {
    if (label[i] < 0) continue;
    rows.push_back(static_cast<TokenId>(i));
    labels.push_back(label[i]);
  }
  if (rows.empty()) return 0;
  const at::Tensor bins_N8 =
      logits_NV.index_select(0, id_tensor(rows, logits_NV)).index_select(1, id_tensor(encoder.bin_tokens(), logits_NV));
  return bins_N8.argmax(1).eq(id_tensor(labels, logits_NV)).sum().item().toDouble();
}

}  // namespace

WarmupLossReport accumulate_warmup_gradient(const GptOssConfig& config, const GptOssWeights& weights,
                                            const PromptEncoder& encoder, const WarmupBatch& batch,
                                            const WarmupLossOptions& options) {
  const Targets targets = targets_of(encoder, batch);
  WarmupLossReport report;
  for (const TargetSequence& s : targets.sequences) report.forward_tokens += static_cast<std::int64_t>(s.input.size());
  for (const std::vector<std::size_t>& chosen : micro_batches(targets.sequences, options.micro_batch_rows)) {
    const TokenWeights shares = token_weights(batch, targets, chosen);
    accumulate_over_logits(
        config, weights, targets.sequences, chosen, options.block_rows,
        [&](const at::Tensor& logits, const RowBlock& rows) {
          const at::Tensor surprise = target_logprobs(logits, id_tensor(part(shares.targets, rows), logits)).neg();
          const at::Tensor bin_loss = surprise.mul(value_tensor(part(shares.bin, rows), logits)).sum();
          const at::Tensor other_loss = surprise.mul(value_tensor(part(shares.other, rows), logits)).sum();
          report.bin_loss += bin_loss.item().toDouble();
          report.probability_loss += other_loss.item().toDouble();
          report.accuracy +=
              right_answers(logits, part(shares.label, rows), encoder) / static_cast<double>(batch.examples.size());
          return bin_loss.add(other_loss, batch.probability_weight);
        });
  }
  return report;
}

std::vector<AnswerTarget> answer_targets(Sampler& sampler, const PromptEncoder& encoder,
                                         std::span<const TrainingExample> examples, std::int64_t rows, RngStream rng) {
  std::vector<AnswerTarget> answers;
  if (rows <= 0 || encoder.wire() != WireFormat::compact) return answers;
  std::vector<std::vector<TokenId>> prompts;
  for (const TrainingExample& example : examples.first(static_cast<std::size_t>(rows))) {
    prompts.push_back(encoder.direct_prompt(example.prompt));
  }
  for (const std::vector<float>& logprobs : sampler.next_token_logprobs(prompts, encoder.bin_tokens(), {})) {
    const Probabilities p = read_direct(logprobs).p;
    answers.push_back({bin_at(p, rng.uniform()), probability_steps(p)});
  }
  return answers;
}

}  // namespace kc
