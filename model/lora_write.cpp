#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/hash.h"
#include "base/json.h"
#include "model/lora_files_torch.h"
#include "model/safetensors_torch.h"

namespace kc {
namespace {

using nlohmann::json;

struct Written {
  std::map<std::string, at::Tensor> tensors;
  std::vector<std::string> modules, parameters;  // targets
};

void put(Written& out, const std::string& path, const LowRank& pair) {
  out.tensors["base_model.model." + path + ".lora_A.weight"] = pair.a;
  out.tensors["base_model.model." + path + ".lora_B.weight"] = pair.b;
}

// One target for all layers where all have it, else one per layer.
std::vector<std::string> targets(const std::vector<std::string>& modules, const std::vector<std::string>& kinds,
                                 std::int64_t layers) {
  std::vector<std::string> out;
  for (const std::string& kind : kinds) {
    std::vector<std::string> hits;
    for (const std::string& module : modules)
      if (module.ends_with("." + kind)) hits.push_back(module.substr(std::string("model.").size()));
    if (static_cast<std::int64_t>(hits.size()) == layers) hits = {kind};
    out.insert(out.end(), hits.begin(), hits.end());
  }
  return out;
}

Written as_peft(const LoraAdapter& adapter, const GptOssConfig& config) {
  Written out;
  std::vector<std::string> linear;
  std::vector<std::string> parameters;
  for (const AdaptedModule& module : adaptable_modules(config)) {
    const LowRank pair = low_rank(adapter, module.name);
    if (!pair.defined()) continue;
    (module.experts ? parameters : linear).push_back(module.name);
    std::string path = module.name;
    if (module.experts) {
      // The wrapper of the first parameter is inside that of the second.
      const std::string experts = module.name.substr(0, module.name.rfind('.'));
      const bool inner = module.name.ends_with(".gate_up_proj") && low_rank(adapter, experts + ".down_proj").defined();
      path = inner ? experts + ".base_layer" : experts;
    }
    put(out, path, module.experts ? pack_experts(pair) : pair);
  }
  out.modules = targets(linear, {"q_proj", "k_proj", "v_proj", "o_proj"}, config.num_hidden_layers);
  if (low_rank(adapter, "lm_head").defined()) out.modules.emplace_back("lm_head");
  out.parameters = targets(parameters, {"mlp.experts.gate_up_proj", "mlp.experts.down_proj"}, config.num_hidden_layers);
  return out;
}

Written as_tinker(const LoraAdapter& adapter) {
  Written out;
  for (const auto& [name, tensor] : adapter.tensors) {
    if (!name.ends_with(".lora_A")) continue;
    const std::string module = name.substr(0, name.size() - 7);
    std::string path = module == "lm_head" ? "model.unembed_tokens" : module;
    const auto replace = [&](const std::string& from, const std::string& to) {
      if (const auto at = path.find(from); at != std::string::npos) path.replace(at, from.size(), to);
    };
    replace(".self_attn.", ".attn.");
    replace(".experts.gate_proj", ".experts.w1");
    replace(".experts.up_proj", ".experts.w3");
    replace(".experts.down_proj", ".experts.w2");
    put(out, path, low_rank(adapter, module));
    const std::string kind = path.substr(path.rfind('.') + 1);
    if (std::find(out.modules.begin(), out.modules.end(), kind) == out.modules.end()) out.modules.push_back(kind);
  }
  return out;
}

json config_json(const LoraAdapter& adapter, const std::string& base, const Written& written) {
  json alpha = adapter.alpha;
  if (adapter.alpha == std::floor(adapter.alpha)) alpha = static_cast<std::int64_t>(adapter.alpha);
  return {{"peft_type", "LORA"},
          {"task_type", "CAUSAL_LM"},
          {"base_model_name_or_path", base},
          {"r", adapter.rank},
          {"lora_alpha", alpha},
          {"lora_dropout", 0.0},
          {"bias", "none"},
          {"target_modules", written.modules},
          {"target_parameters", written.parameters.empty() ? json() : json(written.parameters)},
          {"fan_in_fan_out", false},
          {"use_rslora", adapter.rank_stabilised},
          {"use_dora", false},
          {"modules_to_save", nullptr},
          {"rank_pattern", json::object()},
          {"alpha_pattern", json::object()},
          {"inference_mode", true},
          {"init_lora_weights", true}};
}

}  // namespace

std::string save_adapter(const std::filesystem::path& folder, const LoraAdapter& adapter, const GptOssConfig& config,
                         const std::string& base, AdapterLayout layout) {
  const LoraAdapter shown = layout == AdapterLayout::peft ? peft_form(adapter, config) : adapter;
  const Written written = layout == AdapterLayout::peft ? as_peft(shown, config) : as_tinker(shown);
  const std::filesystem::path file = folder / "adapter_model.safetensors";
  write_safetensors(file, written.tensors);
  write_json_file(folder / "adapter_config.json", config_json(shown, base, written));
  return sha256_hex(read_file(file));
}

}  // namespace kc
