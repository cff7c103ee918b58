#include "tests/weights/published.h"

#include <fstream>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "weights/tensor_tables.h"

namespace kc::test {
namespace {

using nlohmann::json;

json release_config(const GptOssConfig& c) {
  json types = json::array();
  for (std::int64_t i = 0; i < c.num_hidden_layers; ++i)
    types.push_back(i % 2 == 0 ? "sliding_attention" : "full_attention");
  return {{"architectures", {"GptOssForCausalLM"}},
          {"attention_bias", true},
          {"attention_dropout", 0.0},
          {"eos_token_id", 200002},
          {"experts_per_token", 4},
          {"head_dim", 64},
          {"hidden_act", "silu"},
          {"hidden_size", 2880},
          {"initial_context_length", 4096},
          {"initializer_range", 0.02},
          {"intermediate_size", 2880},
          {"layer_types", types},
          {"max_position_embeddings", 131072},
          {"model_type", "gpt_oss"},
          {"num_attention_heads", 64},
          {"num_experts_per_tok", 4},
          {"num_hidden_layers", c.num_hidden_layers},
          {"num_key_value_heads", 8},
          {"num_local_experts", c.num_local_experts},
          {"output_router_logits", false},
          {"pad_token_id", 199999},
          {"quantization_config",
           {{"modules_to_not_convert",
             {"model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"}},
            {"quant_method", "mxfp4"}}},
          {"rms_norm_eps", 1e-05},
          {"rope_scaling",
           {{"beta_fast", 32.0},
            {"beta_slow", 1.0},
            {"factor", 32.0},
            {"original_max_position_embeddings", 4096},
            {"rope_type", "yarn"},
            {"truncate", false}}},
          {"rope_theta", 150000},
          {"router_aux_loss_coef", 0.9},
          {"sliding_window", 128},
          {"swiglu_limit", 7.0},
          {"tie_word_embeddings", false},
          {"transformers_version", "4.55.0.dev0"},
          {"use_cache", true},
          {"vocab_size", 201088}};
}

void write_hollow(const std::filesystem::path& file, const std::vector<TensorHeader>& specs) {
  json header = json::object();
  std::int64_t end = 0;
  for (const TensorHeader& spec : specs) {
    header[spec.name] = {
        {"dtype", name_of(spec.dtype)}, {"shape", spec.shape}, {"data_offsets", {end, end + spec.bytes()}}};
    end += spec.bytes();
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&length), 8);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  std::filesystem::resize_file(file, 8 + text.size() + static_cast<std::uint64_t>(end));
}

}  // namespace

GptOssConfig published_config(std::int64_t layers, std::int64_t experts) {
  GptOssConfig c;
  c.vocab_size = 201088;
  c.hidden_size = 2880;
  c.intermediate_size = 2880;
  c.num_hidden_layers = layers;
  c.num_attention_heads = 64;
  c.num_key_value_heads = 8;
  c.head_dim = 64;
  c.num_local_experts = experts;
  c.num_experts_per_tok = 4;
  c.sliding_window = 128;
  c.dtype = "bfloat16";
  c.experts = ExpertStorage::mxfp4;
  return c;
}

void write_sparse_folder(const std::filesystem::path& folder, const GptOssConfig& config, std::int64_t shards) {
  write_json_file(folder / "config.json", release_config(config));
  const std::vector<TensorHeader> table = tensor_table(config);
  json map = json::object();
  for (std::int64_t i = 0; i < shards; ++i) {
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i, shards - 1);  // as the release numbers
    const auto count = static_cast<std::int64_t>(table.size());
    const std::vector<TensorHeader> part(table.begin() + count * i / shards, table.begin() + count * (i + 1) / shards);
    for (const TensorHeader& spec : part) map[spec.name] = name;
    write_hollow(folder / name, part);
  }
  write_json_file(folder / "model.safetensors.index.json", {{"metadata", {{"total_size", 0}}}, {"weight_map", map}});
}

}  // namespace kc::test
