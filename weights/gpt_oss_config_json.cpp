#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "weights/config_reader.h"
#include "weights/gpt_oss_config.h"
#include "weights/mxfp4.h"
#include "weights/tensor_tables.h"

namespace kc {
namespace {

using config_reader::fail;
using config_reader::Reader;
using nlohmann::json;

constexpr std::int64_t kMostLayers = 10000;  // the tensors of more fill the memory before any is read

// The sizes that every layout states, under the same keys but for the experts'.
void read_sizes(Reader& r, const char* experts, const char* experts_per_token, GptOssConfig& c) {
  r.get_size("vocab_size", c.vocab_size);
  r.get_size("hidden_size", c.hidden_size);
  r.get_size("intermediate_size", c.intermediate_size);
  r.get_size("num_hidden_layers", c.num_hidden_layers, kMostLayers);
  r.get_size("num_attention_heads", c.num_attention_heads);
  r.get_size("num_key_value_heads", c.num_key_value_heads);
  r.get_size("head_dim", c.head_dim);
  r.get_size(experts, c.num_local_experts);
  r.get_size(experts_per_token, c.num_experts_per_tok);
}

// Where rotary positions are described; empty: nowhere, transformers' defaults hold.
std::string rope_section(const json& root, const std::filesystem::path& file) {
  const bool has_new = root.contains("rope_parameters"), has_old = root.contains("rope_scaling");
  if (has_new && has_old && root.at("rope_parameters") != root.at("rope_scaling"))
    fail(file, "rope_scaling", "differs from rope_parameters: remove the one that does not hold");
  const std::string section = has_new ? "rope_parameters" : has_old ? "rope_scaling" : "";
  if (!section.empty() && root.at(section).is_null())
    fail(file, section, "null means different things to different versions: state a rope_type, or remove the key");
  return section;
}

void read_rope(const json& root, const std::filesystem::path& file, GptOssConfig& c) {
  const std::string section = rope_section(root, file);
  if (const auto theta = root.find("rope_theta"); theta != root.end()) {
    if (!theta->is_number()) fail(file, "rope_theta", shown(*theta) + " is not a number");
    c.rope_theta = *theta;
  }
  if (section.empty()) return;
  Reader rope(root.at(section), file, section + ".");
  const json* type = rope.find("rope_type");
  if (type == nullptr) type = rope.find("type");
  rope.get("rope_theta", c.rope_theta);
  double rotated = 1;
  rope.get("partial_rotary_factor", rotated);
  if (rotated != 1) fail(file, section + ".partial_rotary_factor", "only 1 is supported: every dimension rotates");
  const std::string name = type == nullptr ? "default" : type->is_string() ? type->get<std::string>() : shown(*type);
  if (name == "default") {
    c.rope_factor = 1;
  } else if (name == "yarn") {
    c.rope_truncate = true;
    c.original_max_position_embeddings = c.max_position_embeddings;  // transformers' default where the section is there
    if (rope.find("factor") == nullptr) fail(file, section + ".factor", "missing; yarn needs it");
    rope.get("factor", c.rope_factor);
    rope.get("beta_fast", c.rope_beta_fast);
    rope.get("beta_slow", c.rope_beta_slow);
    rope.get("truncate", c.rope_truncate);
    rope.get("original_max_position_embeddings", c.original_max_position_embeddings);
    if (!(c.rope_factor >= 1)) fail(file, section + ".factor", "must be at least 1");
  } else {
    fail(file, section + ".rope_type", name + " is not supported (\"yarn\" and \"default\" are)");
  }
  if (!(c.rope_theta > 1)) fail(file, "rope_theta", "must be above 1");
  if (c.original_max_position_embeddings < 1 || !(c.rope_beta_fast > 0) || !(c.rope_beta_slow > 0))
    fail(file, section, "original_max_position_embeddings, beta_fast and beta_slow must be positive");
  rope.refuse_others();
}

void read_layer_types(const json& types, const std::filesystem::path& file, GptOssConfig& c) {
  if (!types.is_array() || static_cast<std::int64_t>(types.size()) != c.num_hidden_layers)
    fail(file, "layer_types", fmt::format("expected a list of {} names", c.num_hidden_layers));
  c.sliding_layers.clear();
  for (const json& type : types) {
    if (type != "sliding_attention" && type != "full_attention")
      fail(file, "layer_types", shown(type) + " is not supported (sliding_attention and full_attention are)");
    c.sliding_layers.push_back(type == "sliding_attention");
  }
}

void check_names(const json& root, const std::filesystem::path& file) {
  const auto must_be = [&](const char* key, const json& wanted) {
    if (root.contains(key) && root.at(key) != wanted)
      fail(file, key, fmt::format("{} is not supported (only {})", shown(root.at(key)), shown(wanted)));
  };
  if (!root.is_object() || !root.contains("model_type"))
    throw Error(ErrorKind::bad_data, file.string() + ": not a model configuration (key \"model_type\" is missing)");
  must_be("model_type", "gpt_oss");
  if (root.contains("architectures") && !root.at("architectures").is_null())
    must_be("architectures", json::array({"GptOssForCausalLM"}));
  must_be("hidden_act", "silu");
  must_be("attention_dropout", 0.0);
  must_be("output_router_logits", false);
  const auto must_agree = [&](const char* key, const char* other) {
    if (root.contains(key) && root.contains(other) && root.at(key) != root.at(other))
      fail(file, key,
           fmt::format("{} differs from {}, which is {}", shown(root.at(key)), other, shown(root.at(other))));
  };
  must_agree("experts_per_token", "num_experts_per_tok");
  must_agree("num_experts", "num_local_experts");
  if (root.contains("torch_dtype")) must_agree("torch_dtype", "dtype");
}

// N of "model.layers.N.mlp.experts"; -1 of anything else.
std::int64_t layer_of_experts(const json& module) {
  if (!module.is_string()) return -1;
  const auto name = module.get<std::string>();
  constexpr std::string_view kBefore = "model.layers.";
  std::int64_t layer = -1;
  if (name.starts_with(kBefore)) std::from_chars(name.data() + kBefore.size(), name.data() + name.size(), layer);
  return name == layer_name(layer, "mlp.experts") ? layer : -1;
}

// Mxfp4Config's other keys choose kernels. Of what is not packed only a layer's experts matter: the rest never is.
void read_quantization(const json& root, const std::filesystem::path& file, GptOssConfig& c) {
  if (!root.contains("quantization_config") || root.at("quantization_config").is_null()) return;
  const json& section = root.at("quantization_config");
  if (!section.is_object() || !section.contains("quant_method") || section.at("quant_method") != "mxfp4")
    fail(file, "quantization_config.quant_method", "only \"mxfp4\" is supported; save the model dequantised");
  c.experts = ExpertStorage::mxfp4;
  const auto unpacked = section.find("modules_to_not_convert");
  if (unpacked == section.end() || !unpacked->is_array()) return;
  for (const json& module : *unpacked)
    if (const std::int64_t layer = layer_of_experts(module); layer >= 0 && layer < c.num_hidden_layers) {
      c.expanded_layers.resize(static_cast<std::size_t>(c.num_hidden_layers));
      c.expanded_layers[static_cast<std::size_t>(layer)] = true;
    }
}

void check_whole_blocks(const std::filesystem::path& file, const GptOssConfig& c) {
  if (c.experts != ExpertStorage::mxfp4) return;
  for (const auto& [key, size] : {std::pair{"hidden_size", c.hidden_size}, {"intermediate_size", c.intermediate_size}})
    if (size % kMxfp4Block != 0)
      fail(file, key,
           fmt::format("{} is no multiple of {}, the block of this model's MXFP4 experts: store such a model with its "
                       "experts expanded",
                       size, kMxfp4Block));
}

void check_sizes(const std::filesystem::path& file, const GptOssConfig& c) {
  check_whole_blocks(file, c);
  if (c.num_attention_heads % c.num_key_value_heads != 0)
    fail(file, "num_key_value_heads", "must divide num_attention_heads");
  if (c.head_dim % 2 != 0) fail(file, "head_dim", "must be even");
  if (c.num_experts_per_tok > c.num_local_experts) fail(file, "num_experts_per_tok", "exceeds num_local_experts");
  if (c.sliding_window < 1) fail(file, "sliding_window", "must be at least 1");
  if (!(c.rms_norm_eps >= 0)) fail(file, "rms_norm_eps", "must not be negative");
  if (!(c.swiglu_limit > 0)) fail(file, "swiglu_limit", "must be positive");
  if (!std::isfinite(c.swiglu_alpha)) fail(file, "swiglu_alpha", "must be a finite number");
}

std::string read_dtype(const json& root, const std::filesystem::path& file, const GptOssConfig& c, bool& stated) {
  const char* key = root.contains("dtype") ? "dtype" : "torch_dtype";
  stated = root.contains(key) && !root.at(key).is_null();
  if (!stated) return c.experts == ExpertStorage::mxfp4 ? "bfloat16" : "float32";
  const json& value = root.at(key);
  if (value != "float32" && value != "bfloat16")
    fail(file, key, shown(value) + " is not supported (float32 and bfloat16 are)");
  return value;
}

}  // namespace

GptOssConfig load_gpt_oss_config(const std::filesystem::path& config_json, bool* states_dtype) {
  const json root = read_folder_json(config_json);
  check_names(root, config_json);
  GptOssConfig c;
  c.sliding_window = 128;  // transformers' defaults where a key is absent, as those of the structure are elsewhere
  Reader r(root, config_json, "");
  read_sizes(r, "num_local_experts", "num_experts_per_tok", c);
  read_quantization(root, config_json, c);
  r.get("sliding_window", c.sliding_window);
  r.get("max_position_embeddings", c.max_position_embeddings);
  r.get("rms_norm_eps", c.rms_norm_eps);
  r.get("swiglu_alpha", c.swiglu_alpha);
  r.get("swiglu_limit", c.swiglu_limit);
  r.get("attention_bias", c.attention_bias);
  r.get("tie_word_embeddings", c.tie_word_embeddings);
  r.refuse_others();
  bool stated = true;
  c.dtype = read_dtype(root, config_json, c, stated);
  if (states_dtype != nullptr) *states_dtype = stated;
  read_rope(root, config_json, c);
  if (const json* types = r.find("layer_types")) read_layer_types(*types, config_json, c);
  check_sizes(config_json, c);
  return c;
}

GptOssConfig load_original_config(const std::filesystem::path& config_json) {
  const json root = read_folder_json(config_json);
  GptOssConfig c;
  c.dtype = "bfloat16";
  c.experts = ExpertStorage::mxfp4;
  Reader r(root, config_json, "");
  read_sizes(r, "num_experts", "experts_per_token", c);
  r.get_size("sliding_window", c.sliding_window);
  r.get_size("initial_context_length", c.original_max_position_embeddings);
  r.get("swiglu_limit", c.swiglu_limit);
  r.get("rope_theta", c.rope_theta);
  r.get("rope_scaling_factor", c.rope_factor);
  r.get("rope_ntk_alpha", c.rope_beta_slow);
  r.get("rope_ntk_beta", c.rope_beta_fast);
  r.refuse_all_others();
  if (!(c.rope_theta > 1) || !(c.rope_factor >= 1) || !(c.rope_beta_slow > 0) || !(c.rope_beta_fast > 0))
    fail(config_json, "rope_theta", "rope_theta, rope_scaling_factor, rope_ntk_alpha or rope_ntk_beta is out of range");
  c.max_position_embeddings =
      static_cast<std::int64_t>(static_cast<double>(c.original_max_position_embeddings) * c.rope_factor);
  check_sizes(config_json, c);
  return c;
}

}  // namespace kc
