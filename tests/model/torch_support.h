#pragma once
// Small random models and comparisons for the tests of this folder.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/transformer_torch.h"

namespace kc {

GptOssConfig small_config();
// Weights with which every part matters: clamps are reached; biases and sinks are not zero, norms not one.
GptOssWeights random_weights(const GptOssConfig& config, std::uint64_t seed);
// Random A and B: an adapter that changes every logit.
LoraAdapter random_adapter(const GptOssConfig& config, const LoraOptions& options, std::uint64_t seed);
at::Tensor normal_values(const std::vector<std::int64_t>& shape, std::uint64_t seed);  // fp32
at::Tensor random_ids(std::int64_t batch, std::int64_t length, std::int64_t vocabulary, std::uint64_t seed);
TokenBatch full_batch(const at::Tensor& ids_BT);

at::Tensor all_logits(const GptOssConfig& config, const GptOssWeights& weights, const TokenBatch& batch);  // [B, T, V]
// Mean next-token cross-entropy over all positions of a full batch.
at::Tensor next_token_loss(const at::Tensor& logits_BTV, const at::Tensor& ids_BT);
std::map<std::string, at::Tensor> gradients(GptOssWeights& weights);

// max |a - b| / max |b|.
double relative_error(const at::Tensor& a, const at::Tensor& b);

// One line "worst case: WHAT MEASURED (limit LIMIT)", also among the test's recorded properties.
void print_worst(const std::string& what, double measured, double limit);

}  // namespace kc
