#include "weights/tensor_tables.h"

#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "weights/mxfp4.h"

namespace kc {
namespace {

struct Sizes {
  std::int64_t hidden, width, experts, heads, queries, keys;
  explicit Sizes(const GptOssConfig& c)
      : hidden(c.hidden_size),
        width(c.intermediate_size),
        experts(c.num_local_experts),
        heads(c.num_attention_heads),
        queries(c.num_attention_heads * c.head_dim),
        keys(c.num_key_value_heads * c.head_dim) {}
};

class Table {
 public:
  explicit Table(Dtype dtype) : dtype_(dtype) {}
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }
  void put(const std::string& name, std::vector<std::int64_t> shape) {
    specs_.push_back({prefix_ + name, dtype_, std::move(shape)});
  }
  void put_linear(const std::string& name, std::int64_t out, std::int64_t in, bool bias) {
    put(name + ".weight", {out, in});
    if (bias) put(name + ".bias", {out});
  }
  // E matrices [out, in] in MXFP4.
  void put_packed(const std::string& blocks, const std::string& scales, std::int64_t experts, std::int64_t out,
                  std::int64_t in) {
    specs_.push_back({prefix_ + blocks, Dtype::u8, {experts, out, in / kMxfp4Block, kMxfp4BlockBytes}});
    specs_.push_back({prefix_ + scales, Dtype::u8, {experts, out, in / kMxfp4Block}});
  }
  std::vector<TensorHeader> take() { return std::move(specs_); }

 private:
  Dtype dtype_;
  std::string prefix_;
  std::vector<TensorHeader> specs_;
};

void put_experts(ExpertStorage storage, const Sizes& n, Table& t) {
  if (storage == ExpertStorage::mxfp4) {
    t.put_packed("mlp.experts.gate_up_proj_blocks", "mlp.experts.gate_up_proj_scales", n.experts, 2 * n.width,
                 n.hidden);
    t.put_packed("mlp.experts.down_proj_blocks", "mlp.experts.down_proj_scales", n.experts, n.hidden, n.width);
  } else {
    t.put("mlp.experts.gate_up_proj", {n.experts, n.hidden, 2 * n.width});
    t.put("mlp.experts.down_proj", {n.experts, n.width, n.hidden});
  }
  t.put("mlp.experts.gate_up_proj_bias", {n.experts, 2 * n.width});
  t.put("mlp.experts.down_proj_bias", {n.experts, n.hidden});
}

struct NamePair {
  std::string_view ours, original;
};
constexpr std::array<NamePair, 15> kLayerNames = {{
    {"input_layernorm.weight", "attn.norm.scale"},
    {"post_attention_layernorm.weight", "mlp.norm.scale"},
    {"self_attn.o_proj.weight", "attn.out.weight"},
    {"self_attn.o_proj.bias", "attn.out.bias"},
    {"self_attn.sinks", "attn.sinks"},
    {"self_attn.q_proj.weight", "attn.qkv.weight"},
    {"self_attn.q_proj.bias", "attn.qkv.bias"},
    {"mlp.router.weight", "mlp.gate.weight"},
    {"mlp.router.bias", "mlp.gate.bias"},
    {"mlp.experts.gate_up_proj_blocks", "mlp.mlp1_weight.blocks"},
    {"mlp.experts.gate_up_proj_scales", "mlp.mlp1_weight.scales"},
    {"mlp.experts.gate_up_proj_bias", "mlp.mlp1_bias"},
    {"mlp.experts.down_proj_blocks", "mlp.mlp2_weight.blocks"},
    {"mlp.experts.down_proj_scales", "mlp.mlp2_weight.scales"},
    {"mlp.experts.down_proj_bias", "mlp.mlp2_bias"},
}};

std::string_view original_layer_name(std::string_view rest) {
  for (const NamePair& pair : kLayerNames)
    if (!rest.empty() && rest == pair.ours) return pair.original;
  return {};
}

}  // namespace

Dtype weight_dtype(const GptOssConfig& config) { return config.dtype == "bfloat16" ? Dtype::bf16 : Dtype::f32; }

std::string layer_name(std::int64_t layer, const std::string& rest) {
  return "model.layers." + std::to_string(layer) + "." + rest;
}

std::vector<TensorHeader> tensor_table(const GptOssConfig& c) {
  const Sizes n(c);
  Table t(weight_dtype(c));
  t.put("model.embed_tokens.weight", {c.vocab_size, n.hidden});
  if (!c.tie_word_embeddings) t.put("lm_head.weight", {c.vocab_size, n.hidden});
  t.put("model.norm.weight", {n.hidden});
  for (std::int64_t i = 0; i < c.num_hidden_layers; ++i) {
    t.set_prefix(layer_name(i, ""));
    t.put("input_layernorm.weight", {n.hidden});
    t.put("post_attention_layernorm.weight", {n.hidden});
    t.put_linear("self_attn.q_proj", n.queries, n.hidden, c.attention_bias);
    t.put_linear("self_attn.k_proj", n.keys, n.hidden, c.attention_bias);
    t.put_linear("self_attn.v_proj", n.keys, n.hidden, c.attention_bias);
    t.put_linear("self_attn.o_proj", n.hidden, n.queries, c.attention_bias);
    t.put("self_attn.sinks", {n.heads});
    t.put_linear("mlp.router", n.experts, n.hidden, true);
    put_experts(c.experts_of(i), n, t);
  }
  return t.take();
}

std::vector<TensorHeader> original_tensor_table(const GptOssConfig& c) {
  const Sizes n(c);
  Table t(weight_dtype(c));
  t.put("embedding.weight", {c.vocab_size, n.hidden});
  t.put("unembedding.weight", {c.vocab_size, n.hidden});
  t.put("norm.scale", {n.hidden});
  for (std::int64_t i = 0; i < c.num_hidden_layers; ++i) {
    t.set_prefix(fmt::format("block.{}.", i));
    t.put("attn.norm.scale", {n.hidden});
    t.put_linear("attn.qkv", n.queries + 2 * n.keys, n.hidden, true);
    t.put("attn.sinks", {n.heads});
    t.put_linear("attn.out", n.hidden, n.queries, true);
    t.put("mlp.norm.scale", {n.hidden});
    t.put_linear("mlp.gate", n.experts, n.hidden, true);
    t.put_packed("mlp.mlp1_weight.blocks", "mlp.mlp1_weight.scales", n.experts, 2 * n.width, n.hidden);
    t.put("mlp.mlp1_bias", {n.experts, 2 * n.width});
    t.put_packed("mlp.mlp2_weight.blocks", "mlp.mlp2_weight.scales", n.experts, n.hidden, n.width);
    t.put("mlp.mlp2_bias", {n.experts, n.hidden});
  }
  return t.take();
}

OriginalPlace original_place(const GptOssConfig& config, const std::string& name) {
  if (name == "model.embed_tokens.weight") return {"embedding.weight"};
  if (name == "lm_head.weight") return {"unembedding.weight"};
  if (name == "model.norm.weight") return {"norm.scale"};
  constexpr std::string_view kPrefix = "model.layers.";
  std::int64_t layer = 0;
  const std::string_view text(name);
  if (!text.starts_with(kPrefix)) return {};
  const auto [end, error] = std::from_chars(text.data() + kPrefix.size(), text.data() + text.size(), layer);
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || !rest.starts_with('.')) return {};
  const Sizes n(config);
  std::string ours(rest.substr(1));
  std::int64_t first_row = 0;
  for (const auto& [projection, row] :
       {std::pair{"self_attn.k_proj.", n.queries}, {"self_attn.v_proj.", n.queries + n.keys}})
    if (ours.starts_with(projection)) {
      ours[10] = 'q';  // the fused matrix: rows of q, then k, then v
      first_row = row;
    }
  const std::string_view original = original_layer_name(ours);
  if (original.empty()) return {};
  return {fmt::format("block.{}.{}", layer, original), first_row};
}

}  // namespace kc
