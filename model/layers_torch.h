#pragma once
// The pieces of a layer, each differentiable, on packed rows: N real tokens of B sequences, one after the other,
// without padding. Every piece has two implementations that must agree: fused CPU kernels, and plain ATen operators for
// every other device (and to check the first). H hidden, C = (nH + 2 nKV) D columns of queries, keys and values.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/transformer_torch.h"
#include "weights/gpt_oss_config.h"

namespace kc {

struct PackedTokens {
  std::int64_t batch = 0;
  std::int64_t longest = 0;           // T of the padded batch
  std::vector<std::int64_t> offsets;  // [B + 1]: sequence b is rows offsets[b] to offsets[b + 1]
  at::Tensor ids_N, positions_N;      // int64
  at::Tensor padded_rows_N;           // int64: row in the padded [B * T] batch
  // Told by attention, from several threads at once, how many scores it has just computed (count_scores of all
  // sequences together); empty: nobody asks.
  std::function<void(std::int64_t scores)> on_scores = {};
  std::int64_t count() const { return offsets.back(); }
  std::int64_t length(std::int64_t b) const { return offsets[b + 1] - offsets[b]; }
};
PackedTokens pack_tokens(const TokenBatch& batch);

// cos and sin of position * inverse frequency, times YaRN's factor: fp32, [positions, D / 2].
struct RopeTables {
  at::Tensor cos, sin;
};
at::Tensor rope_inverse_frequencies(const GptOssConfig& config);  // fp32 [D / 2]
double rope_magnitude(const GptOssConfig& config);                // YaRN's m
RopeTables rope_tables(const GptOssConfig& config, std::int64_t positions, const at::Device& device);

struct AttentionShape {
  std::int64_t heads, kv_heads, head_dim;
  std::int64_t window;  // 0: all earlier positions
  std::int64_t columns() const { return (heads + 2 * kv_heads) * head_dim; }
};
AttentionShape attention_shape(const GptOssConfig& config, std::int64_t layer);

struct ExpertShape {
  std::int64_t experts, chosen, width;
  double alpha, limit;
};
ExpertShape expert_shape(const GptOssConfig& config);

// The matrices [E, in, out] of a layer's experts: dense, or MXFP4, which is decoded one expert at a time when it is
// used (to exactly the numbers that an expansion would hold) and gets no gradient.
struct ExpertMatrices {
  at::Tensor dense;           // [E, in, out]; undefined when packed
  at::Tensor blocks, scales;  // u8 [E, out, in / 32, 16] and [E, out, in / 32]; undefined when dense
  bool packed() const { return blocks.defined(); }
  at::Tensor of(std::int64_t expert, at::ScalarType type) const;  // [in, out] of this type
};

struct LayerWeights {
  at::Tensor input_norm, post_norm;
  at::Tensor qkv, qkv_bias;  // rows of q, k, v; bias undefined without attention_bias
  std::int64_t query_columns = 0, key_columns = 0;
  at::Tensor output, output_bias, sinks;
  at::Tensor router, router_bias;
  ExpertMatrices gate_up, down;
  at::Tensor gate_up_bias, down_bias;
  LowRank q_lora, k_lora, v_lora, output_lora, gate_up_lora, down_lora;  // adapters beside them
};
LayerWeights layer_weights(const GptOssConfig& config, const GptOssWeights& weights, std::int64_t layer);

// Type of attention's arithmetic and of cached keys and values: fp64 for fp64, else fp32.
at::ScalarType attention_type(const at::Tensor& any);

at::Tensor rms_norm(const at::Tensor& x_NH, const at::Tensor& weight_H, double eps);

// Rotates the query and key heads of each row by its position: [N, C] of attention_type.
at::Tensor rotate_rows(const at::Tensor& qkv_NC, const RopeTables& rope, const at::Tensor& positions_N,
                       const AttentionShape& shape);

// Causal attention within each sequence, rotation included: [N, C] to [N, nH D].
at::Tensor attention(const at::Tensor& qkv_NC, const at::Tensor& sinks, const RopeTables& rope,
                     const PackedTokens& tokens, const AttentionShape& shape);

// The same without derivatives, also giving the rotated [N, C] that a cache keeps.
struct AttentionResult {
  at::Tensor out, rotated;
};
AttentionResult attention_with_cache(const at::Tensor& qkv_NC, const at::Tensor& sinks, const RopeTables& rope,
                                     const PackedTokens& tokens, const AttentionShape& shape);

// Router and experts: [N, H] to [N, H].
at::Tensor mixture_of_experts(const at::Tensor& x_NH, const LayerWeights& weights, const ExpertShape& shape);

// The whole stack on packed rows: embedding, layers, final norm. `attend` gives a layer's attention from its [N, C].
using Attend = std::function<at::Tensor(std::int64_t layer, const at::Tensor& qkv_NC, const at::Tensor& sinks)>;
struct ModelWeights {
  at::Tensor embedding, head, final_norm;
  LowRank head_lora;
  std::vector<LayerWeights> layers;
};
ModelWeights model_weights(const GptOssConfig& config, const GptOssWeights& weights);
// Logits [N, V] in fp32 (fp64 for fp64 weights) of final-norm rows.
at::Tensor head_logits(const at::Tensor& hidden_NH, const at::Tensor& head, const LowRank& head_lora);
at::Tensor run_layers(const GptOssConfig& config, const ModelWeights& weights, const at::Tensor& ids_N,
                      const Attend& attend);

// Off: plain operators everywhere. For tests and comparison only; not thread-safe.
void use_fused_kernels(bool on);
bool fused(const at::Tensor& any);

// Plain-operator versions of the pieces.
namespace plain {
at::Tensor rms_norm(const at::Tensor& x_NH, const at::Tensor& weight_H, double eps);
at::Tensor rotate(const at::Tensor& qkv_NC, const RopeTables& rope, const at::Tensor& positions_N,
                  const AttentionShape& shape);
at::Tensor attend(const at::Tensor& rotated_NC, const at::Tensor& sinks, const PackedTokens& tokens,
                  const AttentionShape& shape);
at::Tensor experts(const at::Tensor& x_NH, const at::Tensor& router_logits_NE, const LayerWeights& weights,
                   const ExpertShape& shape);
}  // namespace plain

}  // namespace kc
