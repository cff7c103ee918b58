#include "tests/model/torch_support.h"

#include <fmt/format.h>

#include <iostream>

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/tensor.h>

#include "base/rng.h"

namespace kc {

GptOssConfig small_config() {
  GptOssConfig c;
  c.vocab_size = 48;
  c.hidden_size = 24;
  c.intermediate_size = 20;
  c.num_hidden_layers = 3;
  c.num_attention_heads = 4;
  c.num_key_value_heads = 2;
  c.head_dim = 8;
  c.num_local_experts = 5;
  c.num_experts_per_tok = 2;
  c.sliding_window = 8;
  return c;
}

GptOssWeights random_weights(const GptOssConfig& config, std::uint64_t seed) {
  GptOssWeights weights = init_weights(config, RngStream(seed));
  for (auto& [name, tensor] : weights.tensors) {
    RngStream rng = RngStream(seed).child(name).child(1);
    const bool norm = name.find("norm") != std::string::npos;
    const bool clamped = name.find("gate_up_proj_bias") != std::string::npos;
    at::Tensor noise = at::full(tensor.sizes(), norm ? 1.0 : 0.0, at::kFloat);
    for (std::int64_t i = 0; i < noise.numel(); ++i)
      noise.mutable_data_ptr<float>()[i] += static_cast<float>(rng.normal() * (clamped ? 4.0 : norm ? 0.1 : 0.3));
    tensor = noise.to(tensor.scalar_type());
  }
  return weights;
}

LoraAdapter random_adapter(const GptOssConfig& config, const LoraOptions& options, std::uint64_t seed) {
  LoraAdapter adapter = init_adapter(config, options, RngStream(seed));
  for (auto& [name, tensor] : adapter.tensors) {
    RngStream rng = RngStream(seed).child(name).child(7);
    for (std::int64_t i = 0; i < tensor.numel(); ++i)
      tensor.mutable_data_ptr<float>()[i] = static_cast<float>(rng.normal() * 0.3);
  }
  return adapter;
}

at::Tensor normal_values(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  RngStream rng(seed);
  at::Tensor out = at::full(shape, 0.0, at::kFloat);
  for (std::int64_t i = 0; i < out.numel(); ++i) out.mutable_data_ptr<float>()[i] = static_cast<float>(rng.normal());
  return out;
}

at::Tensor random_ids(std::int64_t batch, std::int64_t length, std::int64_t vocabulary, std::uint64_t seed) {
  RngStream rng(seed);
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < batch * length; ++i)
    ids.push_back(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(vocabulary))));
  return at::tensor(ids, at::kLong).view({batch, length});
}

TokenBatch full_batch(const at::Tensor& ids_BT) {
  return {ids_BT, at::full({ids_BT.size(0)}, ids_BT.size(1), at::kLong)};
}

at::Tensor all_logits(const GptOssConfig& config, const GptOssWeights& weights, const TokenBatch& batch) {
  const at::Tensor hidden = forward_hidden(config, weights, batch);
  return unembed(config, weights, hidden.reshape({-1, config.hidden_size}))
      .view({hidden.size(0), hidden.size(1), config.vocab_size});
}

at::Tensor next_token_loss(const at::Tensor& logits_BTV, const at::Tensor& ids_BT) {
  const std::int64_t t = ids_BT.size(1);
  const at::Tensor logprobs = at::log_softmax(logits_BTV.narrow(1, 0, t - 1), -1);
  return logprobs.gather(2, ids_BT.narrow(1, 1, t - 1).unsqueeze(2)).mean().neg();
}

std::map<std::string, at::Tensor> gradients(GptOssWeights& weights) {
  std::map<std::string, at::Tensor> grads;
  for (auto& [name, tensor] : weights.tensors) grads[name] = tensor.grad().clone();
  return grads;
}

void print_worst(const std::string& what, double measured, double limit) {
  const std::string line = fmt::format("{} {:.3g} (limit {:.3g})", what, measured, limit);
  std::cout << "worst case: " << line << '\n';
  testing::Test::RecordProperty("worst_case", line);
}

double relative_error(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.detach().to(at::kDouble);
  const at::Tensor y = b.detach().to(at::kDouble);
  const double scale = y.abs().max().item<double>();
  return x.sub(y).abs().max().item<double>() / (scale > 0 ? scale : 1.0);
}

}  // namespace kc
