#pragma once
// Loss `importance_sampling` (docs/forecasting.md, "Advantage and loss").
#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include "model/transformer_torch.h"
#include "trainer/advantages.h"

namespace kc {

// -sum_n exp(logp_n - sampler_logp_n) * advantage_n over [N] tokens: a sum, not a mean. The ratio keeps its gradient,
// so at ratio 1 the gradient is that of REINFORCE.
at::Tensor importance_sampling_loss(const at::Tensor& logp_N, const at::Tensor& sampler_logp_N,
                                    const at::Tensor& advantage_N);

struct PolicyLossOptions {
  double temperature = 1.0;  // of the rollouts: the learner's logits are divided by it as the sampler's were
  std::int64_t micro_batch_rows = 32;
  std::vector<TokenId> answers;  // not empty (`direct`): probabilities are renormalised over these tokens
  std::int64_t block_rows = 0;   // accumulate_over_logits
};

struct PolicyLossReport {
  double loss = 0;  // 0 at ratio 1 by construction: no measure of progress
  std::int64_t trained_tokens = 0;
  std::int64_t forward_tokens = 0;  // prompts included
  double kl_sample_train = 0;       // mean of sampler logp - learner logp
  double max_abs_dlogp = 0;         // largest |learner logp - sampler logp|
};

// Adds the gradient of the batch's loss to the weights' gradients; how sequences fall into micro-batches changes
// nothing but rounding.
PolicyLossReport accumulate_policy_gradient(const GptOssConfig& config, const GptOssWeights& weights,
                                            const PolicyBatch& batch, const PolicyLossOptions& options);

}  // namespace kc
