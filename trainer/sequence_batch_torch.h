#pragma once
// Token sequences with trained positions -> log-probabilities of the targets. Legend as in model/transformer_torch.h.
#include <cstdint>
#include <functional>
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

// Consecutive trained positions of the chosen sequences, in order: rows first to first + count of all of them.
struct RowBlock {
  std::int64_t first = 0, count = 0;
};

// Runs the chosen sequences once and adds the gradient of the sum of `loss` over blocks of trained positions to the
// weights' gradients. `loss` gets a block's next-token logits [count, V] (fp32, on the weights' device) and returns a
// scalar that depends on them alone. Only one block's logits exist at a time: at most `block_rows` rows, 0 = as many as
// make 2^24 numbers, so that a vocabulary of 200,000 fits.
using BlockLoss = std::function<at::Tensor(const at::Tensor& logits_NV, const RowBlock& rows)>;
void accumulate_over_logits(const GptOssConfig& config, const GptOssWeights& weights,
                            std::span<const TargetSequence> sequences, std::span<const std::size_t> chosen,
                            std::int64_t block_rows, const BlockLoss& loss);

// ids as an int64 tensor [N] on the device of `like`; values as a float32 tensor.
at::Tensor id_tensor(std::span<const TokenId> ids, const at::Tensor& like);
at::Tensor value_tensor(std::span<const float> values, const at::Tensor& like);

// log softmax(logits / temperature) of the target in each row: [N].
at::Tensor target_logprobs(const at::Tensor& logits_NV, const at::Tensor& targets_N, double temperature = 1.0);
// The same where target m reads row rows_M[m]: [M].
at::Tensor target_logprobs(const at::Tensor& logits_NV, const at::Tensor& rows_M, const at::Tensor& targets_M,
                           double temperature);

}  // namespace kc
