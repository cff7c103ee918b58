#include "model/transformer_torch.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "base/error.h"
#include "model/attention_blocks_torch.h"
#include "model/layers_torch.h"

namespace kc {
namespace {

at::Tensor on_cpu(const std::vector<std::int64_t>& values) { return at::tensor(values, at::kLong); }

at::Tensor joined(const GptOssWeights& weights, std::int64_t layer, const char* kind) {
  std::vector<at::Tensor> parts;
  for (const char* name : {"q", "k", "v"})
    parts.push_back(weights.tensors.at(layer_name(layer, std::string("self_attn.") + name + "_proj." + kind)));
  return at::cat(parts, 0);
}

ExpertMatrices expert_matrices(const GptOssWeights& weights, std::int64_t layer, const char* name) {
  const std::string full = layer_name(layer, name);
  const auto dense = weights.tensors.find(full);
  if (dense != weights.tensors.end()) return {dense->second, {}, {}};
  return {{}, weights.tensors.at(full + "_blocks"), weights.tensors.at(full + "_scales")};
}

}  // namespace

PackedTokens pack_tokens(const TokenBatch& batch) {
  PackedTokens p;
  p.batch = batch.ids_BT.size(0);
  p.longest = batch.ids_BT.size(1);
  if (batch.lengths_B.dim() != 1 || batch.lengths_B.size(0) != p.batch || !batch.lengths_B.is_cpu())
    throw Error(ErrorKind::internal, "TokenBatch: lengths_B must be [B] on the CPU");
  const at::Tensor lengths = batch.lengths_B.to(at::kLong).contiguous();
  const std::int64_t* length = lengths.const_data_ptr<std::int64_t>();
  std::vector<std::int64_t> positions;
  std::vector<std::int64_t> rows;
  p.offsets.push_back(0);
  for (std::int64_t b = 0; b < p.batch; ++b) {
    if (length[b] < 0 || length[b] > p.longest)
      throw Error(ErrorKind::internal, "TokenBatch: a length lies outside [0, T]");
    for (std::int64_t t = 0; t < length[b]; ++t) {
      positions.push_back(t);
      rows.push_back(b * p.longest + t);
    }
    p.offsets.push_back(static_cast<std::int64_t>(rows.size()));
  }
  p.positions_N = on_cpu(positions).to(batch.ids_BT.device());
  p.padded_rows_N = on_cpu(rows).to(batch.ids_BT.device());
  p.ids_N = batch.ids_BT.reshape({-1}).index_select(0, p.padded_rows_N);
  return p;
}

AttentionShape attention_shape(const GptOssConfig& c, std::int64_t layer) {
  return {c.num_attention_heads, c.num_key_value_heads, c.head_dim, c.slides(layer) ? c.sliding_window : 0};
}

ExpertShape expert_shape(const GptOssConfig& c) {
  return {c.num_local_experts, c.num_experts_per_tok, c.intermediate_size, c.swiglu_alpha, c.swiglu_limit};
}

LayerWeights layer_weights(const GptOssConfig& config, const GptOssWeights& weights, std::int64_t layer) {
  const auto get = [&](const char* name) { return weights.tensors.at(layer_name(layer, name)); };
  LayerWeights w;
  w.input_norm = get("input_layernorm.weight");
  w.post_norm = get("post_attention_layernorm.weight");
  w.query_columns = config.num_attention_heads * config.head_dim;
  w.key_columns = config.num_key_value_heads * config.head_dim;
  w.qkv = joined(weights, layer, "weight");
  w.output = get("self_attn.o_proj.weight");
  if (config.attention_bias) {
    w.qkv_bias = joined(weights, layer, "bias");
    w.output_bias = get("self_attn.o_proj.bias");
  }
  w.sinks = get("self_attn.sinks");
  w.router = get("mlp.router.weight");
  w.router_bias = get("mlp.router.bias");
  w.gate_up = expert_matrices(weights, layer, "mlp.experts.gate_up_proj");
  w.gate_up_bias = get("mlp.experts.gate_up_proj_bias");
  w.down = expert_matrices(weights, layer, "mlp.experts.down_proj");
  w.down_bias = get("mlp.experts.down_proj_bias");
  const auto lora = [&](const char* name) { return low_rank(weights.adapter, layer_name(layer, name)); };
  w.q_lora = lora("self_attn.q_proj");
  w.k_lora = lora("self_attn.k_proj");
  w.v_lora = lora("self_attn.v_proj");
  w.output_lora = lora("self_attn.o_proj");
  w.gate_up_lora = gate_up_low_rank(weights.adapter, layer_name(layer, "mlp.experts"));
  w.down_lora = lora("mlp.experts.down_proj");
  return w;
}

ModelWeights model_weights(const GptOssConfig& config, const GptOssWeights& weights) {
  ModelWeights w;
  w.embedding = weights.tensors.at("model.embed_tokens.weight");
  w.head = config.tie_word_embeddings ? w.embedding : weights.tensors.at("lm_head.weight");
  w.final_norm = weights.tensors.at("model.norm.weight");
  w.head_lora = low_rank(weights.adapter, "lm_head");
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) w.layers.push_back(layer_weights(config, weights, i));
  return w;
}

namespace {

at::Tensor queries_keys_values(const at::Tensor& x, const LayerWeights& w) {
  at::Tensor qkv = at::linear(x, w.qkv, w.qkv_bias);
  if (!w.q_lora.defined() && !w.k_lora.defined() && !w.v_lora.defined()) return qkv;
  std::vector<at::Tensor> parts;
  std::int64_t from = 0;
  for (const auto& [pair, columns] : {std::pair{&w.q_lora, w.query_columns}, std::pair{&w.k_lora, w.key_columns},
                                      std::pair{&w.v_lora, w.key_columns}}) {
    parts.push_back(add_low_rank(qkv.narrow(1, from, columns), x, *pair));
    from += columns;
  }
  return at::cat(parts, 1);
}

}  // namespace

at::Tensor run_layers(const GptOssConfig& config, const ModelWeights& weights, const at::Tensor& ids_N,
                      const Attend& attend) {
  const ExpertShape shape = expert_shape(config);
  at::Tensor x = at::embedding(weights.embedding, ids_N);
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) {
    const LayerWeights& w = weights.layers[static_cast<std::size_t>(i)];
    const at::Tensor qkv = queries_keys_values(rms_norm(x, w.input_norm, config.rms_norm_eps), w);
    const at::Tensor attended = attend(i, qkv, w.sinks);
    x = x.add(add_low_rank(at::linear(attended, w.output, w.output_bias), attended, w.output_lora));
    x = x.add(mixture_of_experts(rms_norm(x, w.post_norm, config.rms_norm_eps), w, shape));
  }
  return rms_norm(x, weights.final_norm, config.rms_norm_eps);
}

namespace {

double flops_of_score(const GptOssConfig& c) { return 4.0 * static_cast<double>(c.head_dim); }

// Of one token in one layer, without attention's scores: two for each weight that takes part.
double dense_flops(const GptOssConfig& c) {
  const std::int64_t head_and_norm = (c.vocab_size + 1) * c.hidden_size;
  return 2.0 * static_cast<double>(c.active_parameters() - head_and_norm) / static_cast<double>(c.num_hidden_layers);
}

}  // namespace

double forward_flops(const GptOssConfig& config, std::int64_t tokens) {
  double sum = dense_flops(config) * static_cast<double>(config.num_hidden_layers * tokens);
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i)
    sum += flops_of_score(config) * static_cast<double>(count_scores(tokens, attention_shape(config, i)));
  return sum;
}

at::Tensor forward_hidden(const GptOssConfig& config, const GptOssWeights& weights, const TokenBatch& batch,
                          const std::function<void(double flops)>& on_flops) {
  PackedTokens tokens = pack_tokens(batch);
  if (on_flops)
    tokens.on_scores = [&](std::int64_t scores) { on_flops(flops_of_score(config) * static_cast<double>(scores)); };
  const auto layer_is_done = [&] {
    if (on_flops) on_flops(dense_flops(config) * static_cast<double>(tokens.count()));
  };
  const ModelWeights w = model_weights(config, weights);
  const RopeTables rope = rope_tables(config, tokens.longest, batch.ids_BT.device());
  const at::Tensor hidden =
      run_layers(config, w, tokens.ids_N, [&](std::int64_t layer, const at::Tensor& qkv, const at::Tensor& sinks) {
        if (layer > 0) layer_is_done();
        return attention(qkv, sinks, rope, tokens, attention_shape(config, layer));
      });
  layer_is_done();
  const std::vector<std::int64_t> padded_shape = {tokens.batch, tokens.longest, config.hidden_size};
  if (tokens.count() == tokens.batch * tokens.longest) return hidden.view(padded_shape);
  return at::zeros({tokens.batch * tokens.longest, config.hidden_size}, hidden.options())
      .index_copy(0, tokens.padded_rows_N, hidden)
      .view(padded_shape);
}

at::Tensor head_logits(const at::Tensor& hidden_NH, const at::Tensor& head, const LowRank& head_lora) {
  const at::Tensor logits = at::linear(hidden_NH, head);
  return add_low_rank(logits.to(attention_type(logits)), hidden_NH, head_lora);
}

at::Tensor unembed(const GptOssConfig& config, const GptOssWeights& weights, const at::Tensor& hidden_NH) {
  const at::Tensor& head =
      weights.tensors.at(config.tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight");
  return head_logits(hidden_NH, head, low_rank(weights.adapter, "lm_head"));
}

}  // namespace kc
