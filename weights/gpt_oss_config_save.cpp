#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "weights/gpt_oss_config.h"
#include "weights/tensor_tables.h"

namespace kc {
namespace {

using nlohmann::json;

json rope_parameters(const GptOssConfig& c) {
  if (c.rope_factor <= 1) return {{"rope_type", "default"}, {"rope_theta", c.rope_theta}};
  return {{"rope_type", "yarn"},
          {"rope_theta", c.rope_theta},
          {"factor", c.rope_factor},
          {"beta_fast", c.rope_beta_fast},
          {"beta_slow", c.rope_beta_slow},
          {"truncate", c.rope_truncate},
          {"original_max_position_embeddings", c.original_max_position_embeddings}};
}

// What transformers writes for the released models, and the layers whose experts are expanded.
json quantization(const GptOssConfig& c) {
  json unpacked = {"model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"};
  for (std::int64_t i = 0; i < c.num_hidden_layers; ++i)
    if (c.experts_of(i) == ExpertStorage::expanded) unpacked.push_back(layer_name(i, "mlp.experts"));
  return {{"quant_method", "mxfp4"}, {"modules_to_not_convert", unpacked}};
}

}  // namespace

void save_gpt_oss_config(const GptOssConfig& c, const std::filesystem::path& config_json) {
  json layer_types = json::array();
  for (std::int64_t i = 0; i < c.num_hidden_layers; ++i)
    layer_types.push_back(c.slides(i) ? "sliding_attention" : "full_attention");
  json root = {{"architectures", {"GptOssForCausalLM"}},
               {"model_type", "gpt_oss"},
               {"attention_bias", c.attention_bias},
               {"attention_dropout", 0.0},
               {"dtype", c.dtype},
               {"experts_per_token", c.num_experts_per_tok},
               {"head_dim", c.head_dim},
               {"hidden_act", "silu"},
               {"hidden_size", c.hidden_size},
               {"initial_context_length", c.original_max_position_embeddings},
               {"intermediate_size", c.intermediate_size},
               {"layer_types", layer_types},
               {"max_position_embeddings", c.max_position_embeddings},
               {"num_attention_heads", c.num_attention_heads},
               {"num_experts_per_tok", c.num_experts_per_tok},
               {"num_hidden_layers", c.num_hidden_layers},
               {"num_key_value_heads", c.num_key_value_heads},
               {"num_local_experts", c.num_local_experts},
               {"output_router_logits", false},
               {"rms_norm_eps", c.rms_norm_eps},
               {"rope_parameters", rope_parameters(c)},
               {"sliding_window", c.sliding_window},
               {"swiglu_alpha", c.swiglu_alpha},
               {"swiglu_limit", c.swiglu_limit},
               {"tie_word_embeddings", c.tie_word_embeddings},
               {"use_cache", true},
               {"vocab_size", c.vocab_size}};
  if (c.experts == ExpertStorage::mxfp4) root["quantization_config"] = quantization(c);
  write_json_file(config_json, root);
}

}  // namespace kc
