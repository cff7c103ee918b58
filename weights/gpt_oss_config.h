#pragma once
// Hyper-parameters of the GPT-OSS architecture, as in a Hugging Face config.json (docs/model.md).
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/config.h"

namespace kc {

// How the experts' two matrices are kept: in the dtype of the other weights, or as MXFP4 blocks and scales (mxfp4.h),
// which take a quarter of bfloat16's memory and are decoded where they are used.
enum class ExpertStorage { expanded, mxfp4 };

struct GptOssConfig {
  std::int64_t vocab_size = 2048;
  std::int64_t hidden_size = 128;
  std::int64_t intermediate_size = 128;
  std::int64_t num_hidden_layers = 4;
  std::int64_t num_attention_heads = 4;
  std::int64_t num_key_value_heads = 2;
  std::int64_t head_dim = 32;
  std::int64_t num_local_experts = 4;
  std::int64_t num_experts_per_tok = 2;
  std::int64_t sliding_window = 64;
  std::vector<bool> sliding_layers;  // per layer; empty: even layers slide
  double rope_theta = 150000;
  double rope_factor = 32;  // YaRN; <= 1: plain RoPE
  double rope_beta_fast = 32;
  double rope_beta_slow = 1;
  std::int64_t original_max_position_embeddings = 4096;
  bool rope_truncate = false;
  std::int64_t max_position_embeddings = 131072;
  double rms_norm_eps = 1e-5;
  double swiglu_alpha = 1.702;
  double swiglu_limit = 7.0;
  bool attention_bias = true;
  bool tie_word_embeddings = false;
  std::string dtype = "float32";  // float32 | bfloat16: of the weights
  ExpertStorage experts = ExpertStorage::expanded;
  std::vector<bool> expanded_layers;  // per layer: its experts are expanded though `experts` is mxfp4; empty: none

  bool slides(std::int64_t layer) const;
  ExpertStorage experts_of(std::int64_t layer) const;
  std::int64_t parameter_count() const;    // of the whole model; the values of packed experts, not their scales
  std::int64_t active_parameters() const;  // that take part in one token's forward pass; without the embedding's table
};

GptOssConfig read_gpt_oss_config(Config& config);  // section `model` (vocab_size comes from the tokenizer)

// Key experts of section `model`: how a loaded checkpoint's experts are kept. Nothing: as it stores them.
std::optional<ExpertStorage> read_expert_storage(Config& config);

// Both spellings of rotary positions (rope_scaling and rope_theta; rope_parameters of transformers 5); absent keys are
// transformers' defaults. Error{bad_data} names file and key for anything that changes the arithmetic and is not
// supported. A file without dtype gets float32 (bfloat16 with MXFP4 experts) and sets `*states_dtype` to false.
GptOssConfig load_gpt_oss_config(const std::filesystem::path& config_json, bool* states_dtype = nullptr);
// config.json of the original layout (gpt-oss.md section 3.4): bfloat16 with MXFP4 experts.
GptOssConfig load_original_config(const std::filesystem::path& config_json);
void save_gpt_oss_config(const GptOssConfig& config, const std::filesystem::path& config_json);

}  // namespace kc
