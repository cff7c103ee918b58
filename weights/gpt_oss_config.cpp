#include "weights/gpt_oss_config.h"

namespace kc {

bool GptOssConfig::slides(std::int64_t layer) const {
  if (sliding_layers.empty()) return layer % 2 == 0;
  return sliding_layers.at(static_cast<std::size_t>(layer));
}

ExpertStorage GptOssConfig::experts_of(std::int64_t layer) const {
  const bool expanded = !expanded_layers.empty() && expanded_layers.at(static_cast<std::size_t>(layer));
  return expanded ? ExpertStorage::expanded : experts;
}

namespace {

std::int64_t parameters(const GptOssConfig& c, std::int64_t experts, std::int64_t tables) {
  const std::int64_t queries = c.num_attention_heads * c.head_dim;
  const std::int64_t keys = c.num_key_value_heads * c.head_dim;
  std::int64_t attention = c.hidden_size * (2 * queries + 2 * keys) + c.num_attention_heads;
  if (c.attention_bias) attention += queries + 2 * keys + c.hidden_size;
  const std::int64_t router = c.num_local_experts * (c.hidden_size + 1);
  const std::int64_t expert = 3 * c.hidden_size * c.intermediate_size + 2 * c.intermediate_size + c.hidden_size;
  const std::int64_t layer = attention + router + experts * expert + 2 * c.hidden_size;
  return c.num_hidden_layers * layer + tables * c.vocab_size * c.hidden_size + c.hidden_size;
}

}  // namespace

std::int64_t GptOssConfig::parameter_count() const {
  return parameters(*this, num_local_experts, tie_word_embeddings ? 1 : 2);
}

std::int64_t GptOssConfig::active_parameters() const { return parameters(*this, num_experts_per_tok, 1); }

namespace {

void read_rope(ConfigSection& s, GptOssConfig& c) {
  c.rope_theta = s.number("rope_theta", c.rope_theta, {.meaning = "base of the rotary frequencies", .min = 1.000001});
  c.rope_factor = s.number(
      "rope_factor", c.rope_factor,
      {.meaning = "YaRN extension factor: context grows this many times; 1 is plain RoPE", .min = 1, .max = 1e6});
  c.rope_beta_fast =
      s.number("rope_beta_fast", c.rope_beta_fast,
               {.meaning = "YaRN: rotations in the original context above which a frequency is kept", .min = 1e-3});
  c.rope_beta_slow = s.number(
      "rope_beta_slow", c.rope_beta_slow,
      {.meaning = "YaRN: rotations in the original context below which a frequency is stretched", .min = 1e-3});
  c.original_max_position_embeddings = s.integer("original_max_position_embeddings", c.original_max_position_embeddings,
                                                 {.meaning = "YaRN: original context", .unit = "tokens", .min = 1});
  c.max_position_embeddings = s.integer("max_position_embeddings", c.max_position_embeddings,
                                        {.meaning = "longest sequence", .unit = "tokens", .min = 1});
}

void read_sizes(ConfigSection& s, GptOssConfig& c) {
  const double most = 1 << 20;
  const auto size = [&](const char* key, std::int64_t& value, const char* meaning) {
    value = s.integer(key, value, {.meaning = meaning, .min = 1, .max = most});
  };
  size("hidden_size", c.hidden_size, "width of the residual stream");
  size("intermediate_size", c.intermediate_size, "width of one expert");
  size("num_hidden_layers", c.num_hidden_layers, "layers; even ones slide, odd ones see everything");
  size("num_attention_heads", c.num_attention_heads, "query heads");
  size("num_key_value_heads", c.num_key_value_heads, "key-value heads; divides num_attention_heads");
  size("head_dim", c.head_dim, "width of a head; even");
  size("num_local_experts", c.num_local_experts, "experts of a layer");
  size("num_experts_per_tok", c.num_experts_per_tok, "experts that each token uses");
  c.sliding_window = s.integer("sliding_window", c.sliding_window,
                               {.meaning = "positions a sliding layer sees", .unit = "tokens", .min = 1});
  if (c.num_attention_heads % c.num_key_value_heads != 0)
    s.fault("num_key_value_heads", "must divide num_attention_heads (" + std::to_string(c.num_attention_heads) + ")");
  if (c.head_dim % 2 != 0) s.fault("head_dim", "must be even: rotary positions turn pairs of numbers");
  if (c.num_experts_per_tok > c.num_local_experts)
    s.fault("num_experts_per_tok", "must not exceed num_local_experts (" + std::to_string(c.num_local_experts) + ")");
}

}  // namespace

GptOssConfig read_gpt_oss_config(Config& config) {
  ConfigSection s = config.section("model");
  GptOssConfig c;
  read_sizes(s, c);
  read_rope(s, c);
  c.rms_norm_eps = s.number("rms_norm_eps", c.rms_norm_eps,
                            {.meaning = "added to the mean square in normalisation", .min = 0, .max = 1});
  c.swiglu_alpha = s.number("swiglu_alpha", c.swiglu_alpha, {.meaning = "gain in the sigmoid of an expert's gate"});
  c.swiglu_limit =
      s.number("swiglu_limit", c.swiglu_limit, {.meaning = "clamp of an expert's gate and up values", .min = 1e-6});
  c.tie_word_embeddings =
      s.boolean("tie_word_embeddings", c.tie_word_embeddings, {.meaning = "one matrix for embedding and head"});
  c.dtype = s.choice("dtype", c.dtype, {"float32", "bfloat16"}, {.meaning = "type of the weights"});
  return c;
}

std::optional<ExpertStorage> read_expert_storage(Config& config) {
  const std::string choice = config.section("model").choice(
      "experts", "as_stored", {"as_stored", "mxfp4", "bf16"},
      {.meaning = "experts of the checkpoint of run.init in memory: mxfp4 (packed, decoded where used), bf16 (expanded "
                  "to the other weights' type), or as the folder has them"});
  if (choice == "as_stored") return std::nullopt;
  return choice == "mxfp4" ? ExpertStorage::mxfp4 : ExpertStorage::expanded;
}

}  // namespace kc
