#pragma once
// Token sequences with trained positions -> log-probabilities of the targets. Legend as in model/transformer_torch.h.
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/transformer_torch.h"
#include "tokenizer/tokenizer.h"

namespace kc {

// A sequence fed to the model, and what is predicted from it: target k is predicted at position first_target + k.
struct TargetSequence {
  std::vector<TokenId> input;
  std::vector<TokenId> targets;
  std::int64_t first_target = 0;

  // `answer` predicted after `prompt`: the input is both without the answer's last token.
  static TargetSequence after_prompt(const std::vector<TokenId>& prompt, const std::vector<TokenId>& answer);
};

// Indices of `sequences` in micro-batches of at most `rows`, sequences of like length together so that little is
// padded. Deterministic; every index once.
std::vector<std::vector<std::size_t>> micro_batches(std::span<const TargetSequence> sequences, std::int64_t rows);

// Next-token logits [N, V] in fp32 at the trained positions of the chosen sequences, in order, on the weights' device;
// only those positions are unembedded. Differentiable.
at::Tensor target_logits(const GptOssConfig& config, const GptOssWeights& weights,
                         std::span<const TargetSequence> sequences, std::span<const std::size_t> chosen);

// ids as an int64 tensor [N] on the device of `like`; values as a float32 tensor.
at::Tensor id_tensor(std::span<const TokenId> ids, const at::Tensor& like);
at::Tensor value_tensor(std::span<const float> values, const at::Tensor& like);

// log softmax(logits / temperature) of the target in each row: [N].
at::Tensor target_logprobs(const at::Tensor& logits_NV, const at::Tensor& targets_N, double temperature = 1.0);

}  // namespace kc
