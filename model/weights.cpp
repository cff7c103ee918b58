#include <cmath>
#include <cstring>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "model/transformer_torch.h"

namespace kc {

std::string layer_name(std::int64_t layer, const std::string& rest) {
  return "model.layers." + std::to_string(layer) + "." + rest;
}

namespace {

bool ends_with(const std::string& text, const char* tail) {
  const std::size_t n = std::strlen(tail);
  return text.size() >= n && text.compare(text.size() - n, n, tail) == 0;
}

at::Tensor normal_tensor(const std::vector<std::int64_t>& shape, double deviation, RngStream rng) {
  at::Tensor out = at::empty(shape, at::kFloat);
  float* data = out.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < out.numel(); ++i) data[i] = static_cast<float>(rng.normal() * deviation);
  return out;
}

void add_layer_shapes(const GptOssConfig& c, std::int64_t layer, WeightShapes& shapes) {
  const std::int64_t h = c.hidden_size;
  const std::int64_t queries = c.num_attention_heads * c.head_dim;
  const std::int64_t keys = c.num_key_value_heads * c.head_dim;
  const std::int64_t e = c.num_local_experts;
  const std::int64_t width = c.intermediate_size;
  const auto put = [&](const char* name, std::vector<std::int64_t> shape) {
    shapes[layer_name(layer, name)] = std::move(shape);
  };
  const auto put_linear = [&](const std::string& name, std::int64_t out, std::int64_t in, bool bias) {
    put((name + ".weight").c_str(), {out, in});
    if (bias) put((name + ".bias").c_str(), {out});
  };
  put("input_layernorm.weight", {h});
  put("post_attention_layernorm.weight", {h});
  put_linear("self_attn.q_proj", queries, h, c.attention_bias);
  put_linear("self_attn.k_proj", keys, h, c.attention_bias);
  put_linear("self_attn.v_proj", keys, h, c.attention_bias);
  put_linear("self_attn.o_proj", h, queries, c.attention_bias);
  put("self_attn.sinks", {c.num_attention_heads});
  put_linear("mlp.router", e, h, true);
  put("mlp.experts.gate_up_proj", {e, h, 2 * width});
  put("mlp.experts.gate_up_proj_bias", {e, 2 * width});
  put("mlp.experts.down_proj", {e, width, h});
  put("mlp.experts.down_proj_bias", {e, h});
}

}  // namespace

WeightShapes weight_shapes(const GptOssConfig& c) {
  WeightShapes shapes;
  shapes["model.embed_tokens.weight"] = {c.vocab_size, c.hidden_size};
  if (!c.tie_word_embeddings) shapes["lm_head.weight"] = {c.vocab_size, c.hidden_size};
  shapes["model.norm.weight"] = {c.hidden_size};
  for (std::int64_t i = 0; i < c.num_hidden_layers; ++i) add_layer_shapes(c, i, shapes);
  return shapes;
}

GptOssWeights init_weights(const GptOssConfig& config, RngStream rng) {
  const at::ScalarType dtype = config.dtype == "bfloat16" ? at::kBFloat16 : at::kFloat;
  const double deviation = 1 / std::sqrt(static_cast<double>(config.hidden_size));
  const double output_scale = 1 / std::sqrt(2.0 * static_cast<double>(config.num_hidden_layers));
  GptOssWeights weights;
  for (const auto& [name, shape] : weight_shapes(config)) {
    at::Tensor tensor;
    if (ends_with(name, "norm.weight")) {
      tensor = at::ones(shape, at::kFloat);
    } else if (ends_with(name, "bias") || ends_with(name, "sinks")) {
      tensor = at::zeros(shape, at::kFloat);
    } else {
      const bool output = ends_with(name, "o_proj.weight") || ends_with(name, "down_proj");
      tensor = normal_tensor(shape, output ? deviation * output_scale : deviation, rng.child(name));
    }
    weights.tensors[name] = tensor.to(dtype);
  }
  return weights;
}

void GptOssWeights::require_grad(bool on) {
  for (auto& [name, tensor] : tensors)
    if (tensor.is_floating_point()) tensor.requires_grad_(on);
}

}  // namespace kc
