#include "tests/weights/folders.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/rng.h"
#include "weights/bfloat16.h"
#include "weights/checkpoint_writer.h"
#include "weights/tensor_tables.h"

namespace kc::test {
namespace {

std::vector<std::byte> random_values(const TensorHeader& spec, RngStream rng) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(spec.bytes()));
  const bool norm = spec.name.find("norm") != std::string::npos;
  const bool scales = spec.name.ends_with("_scales");
  for (std::int64_t i = 0; i < spec.elements(); ++i) {
    if (spec.dtype == Dtype::u8) {
      bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>(scales ? 122 + rng.below(5) : rng.below(256));
      continue;
    }
    const auto value = static_cast<float>((norm ? 1 : 0) + 0.2 * rng.normal());
    const std::uint16_t half = bfloat16_of_float(value);
    const auto* source = spec.dtype == Dtype::bf16 ? static_cast<const void*>(&half) : &value;
    std::memcpy(bytes.data() + i * size_of(spec.dtype), source, static_cast<std::size_t>(size_of(spec.dtype)));
  }
  return bytes;
}

std::vector<std::byte> joined(const TensorBytes& tensors, const std::vector<std::string>& names) {
  std::vector<std::byte> all;
  for (const std::string& name : names) {
    const auto& part = tensors.at(name);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

void add_original_layer(const TensorBytes& t, const std::string& from, const std::string& to, TensorBytes& out) {
  const auto qkv = [&](const std::string& kind) {
    return joined(
        t, {from + "self_attn.q_proj." + kind, from + "self_attn.k_proj." + kind, from + "self_attn.v_proj." + kind});
  };
  out[to + "attn.qkv.weight"] = qkv("weight");
  out[to + "attn.qkv.bias"] = qkv("bias");
  out[to + "attn.norm.scale"] = t.at(from + "input_layernorm.weight");
  out[to + "mlp.norm.scale"] = t.at(from + "post_attention_layernorm.weight");
  out[to + "attn.sinks"] = t.at(from + "self_attn.sinks");
  out[to + "attn.out.weight"] = t.at(from + "self_attn.o_proj.weight");
  out[to + "attn.out.bias"] = t.at(from + "self_attn.o_proj.bias");
  out[to + "mlp.gate.weight"] = t.at(from + "mlp.router.weight");
  out[to + "mlp.gate.bias"] = t.at(from + "mlp.router.bias");
  for (const auto& [number, name] : {std::pair{"1", "gate_up"}, {"2", "down"}}) {
    const std::string source = fmt::format("{}mlp.experts.{}_proj", from, name);
    out[fmt::format("{}mlp.mlp{}_weight.blocks", to, number)] = t.at(source + "_blocks");
    out[fmt::format("{}mlp.mlp{}_weight.scales", to, number)] = t.at(source + "_scales");
    out[fmt::format("{}mlp.mlp{}_bias", to, number)] = t.at(source + "_bias");
  }
}

nlohmann::json original_config(const GptOssConfig& c) {
  return {{"num_hidden_layers", c.num_hidden_layers},
          {"num_experts", c.num_local_experts},
          {"experts_per_token", c.num_experts_per_tok},
          {"vocab_size", c.vocab_size},
          {"hidden_size", c.hidden_size},
          {"intermediate_size", c.intermediate_size},
          {"swiglu_limit", c.swiglu_limit},
          {"head_dim", c.head_dim},
          {"num_attention_heads", c.num_attention_heads},
          {"num_key_value_heads", c.num_key_value_heads},
          {"sliding_window", c.sliding_window},
          {"initial_context_length", c.original_max_position_embeddings},
          {"rope_theta", c.rope_theta},
          {"rope_scaling_factor", c.rope_factor},
          {"rope_ntk_alpha", c.rope_beta_slow},
          {"rope_ntk_beta", c.rope_beta_fast}};
}

}  // namespace

GptOssConfig tiny_config(ExpertStorage experts, const std::string& dtype) {
  GptOssConfig c;
  c.vocab_size = 80;
  c.hidden_size = 64;
  c.intermediate_size = 32;
  c.num_hidden_layers = 2;
  c.num_attention_heads = 4;
  c.num_key_value_heads = 2;
  c.head_dim = 8;
  c.num_local_experts = 3;
  c.num_experts_per_tok = 2;
  c.sliding_window = 16;
  c.dtype = dtype;
  c.experts = experts;
  return c;
}

TensorBytes random_tensors(const GptOssConfig& config, std::uint64_t seed) {
  TensorBytes tensors;
  for (const TensorHeader& spec : tensor_table(config))
    tensors[spec.name] = random_values(spec, RngStream(seed).child(spec.name));
  return tensors;
}

void write_folder(const std::filesystem::path& folder, const GptOssConfig& config, const TensorBytes& tensors,
                  std::int64_t shard_bytes) {
  std::filesystem::create_directories(folder);
  save_gpt_oss_config(config, folder / "config.json");
  const std::vector<TensorHeader> table = tensor_table(config);
  CheckpointWriter writer(folder, table, shard_bytes);
  for (const TensorHeader& spec : table) writer.write(tensors.at(spec.name));
  writer.finish();
}

void write_original(const std::filesystem::path& folder, const GptOssConfig& config, const TensorBytes& tensors) {
  std::filesystem::create_directories(folder);
  TensorBytes original = {{"embedding.weight", tensors.at("model.embed_tokens.weight")},
                          {"unembedding.weight", tensors.at("lm_head.weight")},
                          {"norm.scale", tensors.at("model.norm.weight")}};
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i)
    add_original_layer(tensors, fmt::format("model.layers.{}.", i), fmt::format("block.{}.", i), original);
  write_json_file(folder / "config.json", original_config(config));
  write_json_file(folder / "dtypes.json", nlohmann::json::object());
  write_file(folder / "model.safetensors", original_tensor_table(config), original);
}

void write_file(const std::filesystem::path& file, const std::vector<TensorHeader>& specs, const TensorBytes& tensors) {
  SafetensorsWriter writer(file, specs);
  for (const TensorHeader& spec : specs) writer.write(tensors.at(spec.name));
  writer.finish();
}

void patch(const std::filesystem::path& path, const std::string& tensor, std::size_t offset,
           const std::vector<std::uint8_t>& bytes) {
  std::ptrdiff_t place = 0;
  {
    const SafetensorsFile file(path);
    const auto entry = std::ranges::find(file.tensors(), tensor, [](const TensorEntry& e) { return e.spec.name; });
    place = file.data(*entry).data() - file.mapped().bytes().data();
  }
  std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(place + static_cast<std::ptrdiff_t>(offset));
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace kc::test
