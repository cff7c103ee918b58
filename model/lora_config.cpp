#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/pattern.h"
#include "base/printable.h"
#include "model/lora_files_torch.h"
#include "model/lora_targets_torch.h"
#include "weights/checkpoint_files.h"

namespace kc {
namespace {

using nlohmann::json;

// Keys that do not change what an adapter computes, or that are read on their own below.
constexpr std::array kHarmlessKeys = {"auto_mapping",
                                      "base_model_name_or_path",
                                      "exclude_modules",
                                      "inference_mode",
                                      "init_lora_weights",
                                      "layers_to_transform",
                                      "lora_alpha",
                                      "lora_dropout",
                                      "megatron_core",
                                      "peft_type",
                                      "peft_version",
                                      "qalora_group_size",
                                      "r",
                                      "revision",
                                      "runtime_config",
                                      "target_modules",
                                      "target_parameters",
                                      "task_type",
                                      "use_rslora",
                                      "bias",
                                      "eva_config",
                                      "ensure_weight_tying"};

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& key, const std::string& problem) {
  throw Error(ErrorKind::bad_data, printable(fmt::format("{}: key \"{}\": {}", file.string(), key, problem)));
}

bool means_off(const json& value) {
  return value.is_null() || value == false || (value.is_structured() && value.empty());
}

void refuse_unsupported(const std::filesystem::path& file, const json& root) {
  for (const auto& [key, value] : root.items()) {
    const bool harmless = std::find(kHarmlessKeys.begin(), kHarmlessKeys.end(), key) != kHarmlessKeys.end();
    if (!harmless && !means_off(value))
      fail(file, key, fmt::format("{} is not supported: it changes what the adapter computes", shown(value)));
  }
  if (root.contains("peft_type") && root["peft_type"] != "LORA")
    fail(file, "peft_type", fmt::format("{} is not supported (only \"LORA\")", shown(root["peft_type"])));
  if (root.contains("bias") && root["bias"] != "none")
    fail(file, "bias", fmt::format("{} is not supported (only \"none\"): it changes the base", shown(root["bias"])));
  const json init = root.value("init_lora_weights", json(true));
  if (!init.is_boolean() && init != "gaussian" && init != "eva" && init != "orthogonal")
    fail(file, "init_lora_weights", fmt::format("{} is not supported: it starts from a changed base", shown(init)));
}

std::vector<std::string> names_of(const std::filesystem::path& file, const json& root, const char* key) {
  const json value = root.value(key, json());
  if (value.is_null()) return {};
  if (value.is_string()) return {value.get<std::string>()};
  if (!value.is_array() || !std::all_of(value.begin(), value.end(), [](const json& v) { return v.is_string(); }))
    fail(file, key, "expected a name or a list of names");
  return value.get<std::vector<std::string>>();
}

std::vector<std::int64_t> layers_of(const std::filesystem::path& file, const json& root) {
  const json value = root.value("layers_to_transform", json());
  if (value.is_null()) return {};
  const json list = value.is_array() ? value : json::array({value});
  if (!std::all_of(list.begin(), list.end(), [](const json& v) { return v.is_number_integer(); }))
    fail(file, "layers_to_transform", "expected the number of a layer or a list of them");
  return list.get<std::vector<std::int64_t>>();
}

template <class T>
T number_of(const std::filesystem::path& file, const json& root, const char* key) {
  if (!root.contains(key) || !root[key].is_number()) fail(file, key, "missing or not a number; it is required");
  return root[key].get<T>();
}

}  // namespace

bool is_adapter_folder(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / "adapter_config.json");
}

namespace {

void refuse_run(const std::filesystem::path& folder) {
  if (is_adapter_folder(folder)) return;
  const std::vector<std::string> adapters = checkpoints_of_run(folder, "adapter_config.json");
  if (adapters.empty()) return;
  throw Error(ErrorKind::bad_data, fmt::format("{}: is a run folder, not an adapter: name one of its checkpoints, {}",
                                               folder.string(), fmt::join(adapters, " or ")));
}

}  // namespace

AdapterConfig load_adapter_config(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "adapter_config.json";
  refuse_run(folder);
  const json root = read_folder_json(file);
  if (!root.is_object()) throw Error(ErrorKind::bad_data, file.string() + ": expected an object");
  refuse_unsupported(file, root);
  AdapterConfig c;
  if (root.contains("r") && !root["r"].is_number_integer()) fail(file, "r", "expected a whole number");
  c.rank = number_of<std::int64_t>(file, root, "r");
  c.alpha = number_of<double>(file, root, "lora_alpha");
  if (c.rank < 1 || c.rank > (1 << 20)) fail(file, "r", "out of range (1 to 2^20)");
  if (!std::isfinite(c.alpha)) fail(file, "lora_alpha", "is not a finite number");
  const json stabilised = root.value("use_rslora", json(false));
  if (!stabilised.is_boolean() && !stabilised.is_null()) fail(file, "use_rslora", "expected true or false");
  c.rank_stabilised = stabilised == true;
  if (const json base = root.value("base_model_name_or_path", json()); base.is_string()) c.base = base;
  c.target_modules = names_of(file, root, "target_modules");
  c.target_parameters = names_of(file, root, "target_parameters");
  c.pattern = root.contains("target_modules") && root["target_modules"].is_string();
  if (root.value("exclude_modules", json()).is_string())
    fail(file, "exclude_modules", "a regular expression is not supported: list the names");
  c.excluded = names_of(file, root, "exclude_modules");
  c.layers = layers_of(file, root);
  return c;
}

namespace {

bool names(const std::string& target, const std::string& module) {
  return module == target || module.ends_with("." + target);
}

// Whether layers_to_transform and exclude_modules leave the module to its targets. lm_head belongs to no layer.
bool admitted(const AdapterConfig& config, const std::string& module) {
  if (std::any_of(config.excluded.begin(), config.excluded.end(),
                  [&](const std::string& excluded) { return names(excluded, module); }))
    return false;
  return config.layers.empty() || module == "lm_head" ||
         std::any_of(config.layers.begin(), config.layers.end(),
                     [&](std::int64_t layer) { return module.starts_with(fmt::format("model.layers.{}.", layer)); });
}

// One target, to be held against many modules.
class Target {
 public:
  Target(const AdapterConfig& config, const std::string& target, bool experts, const std::filesystem::path& file)
      : target_(target), experts_(experts), file_(file) {
    all_linear_ = !experts && config.pattern && target == "all-linear";
    if (experts || !config.pattern || all_linear_) return;
    understood([&] { pattern_.emplace(target_); });
  }

  bool matches(const AdaptedModule& module) const {
    if (module.experts != experts_) return false;
    if (all_linear_) return module.name != "lm_head";
    if (!pattern_) return names(target_, module.name);
    bool found = false;
    understood([&] { found = pattern_->matches(module.name); });
    return found;
  }

 private:
  template <class F>
  void understood(const F& use_pattern) const {
    try {
      use_pattern();
    } catch (const Error& e) {
      fail(file_, "target_modules", fmt::format("is no regular expression that is understood here: {}", e.what()));
    }
  }

  const std::string& target_;
  bool experts_;
  const std::filesystem::path& file_;
  bool all_linear_ = false;
  std::optional<Pattern> pattern_;
};

void check_target(const std::filesystem::path& file, const char* key, const std::string& target,
                  const std::vector<std::string>& matched, const std::set<std::string>& found) {
  if (matched.empty())
    fail(file, key,
         fmt::format("target \"{}\" matches nothing in this model; it has self_attn.q_proj, k_proj, v_proj, o_proj and "
                     "lm_head as modules, mlp.experts.gate_up_proj and down_proj as parameters",
                     target));
  bool any = false;
  for (const std::string& module : matched) {
    const bool has = found.contains(module);
    any = any || has;
    if (!has)
      fail(file, key,
           fmt::format("target \"{}\" names {}, for which adapter_model.safetensors has no tensors", target, module));
  }
  if (!any) fail(file, key, fmt::format("target \"{}\" has no tensors in adapter_model.safetensors", target));
}

}  // namespace

void check_targets(const std::filesystem::path& folder, const AdapterConfig& config,
                   const std::vector<AdaptedModule>& modules, const std::set<std::string>& found) {
  const std::filesystem::path file = folder / "adapter_config.json";
  std::set<std::string> wanted;
  const auto check = [&](const char* key, const std::vector<std::string>& targets, bool experts) {
    for (const std::string& target : targets) {
      const Target asked(config, target, experts, file);
      std::vector<std::string> matched;
      for (const AdaptedModule& module : modules)
        if (admitted(config, module.name) && asked.matches(module)) matched.push_back(module.name);
      check_target(file, key, target, matched, found);
      wanted.insert(matched.begin(), matched.end());
    }
  };
  check("target_modules", config.target_modules, false);
  check("target_parameters", config.target_parameters, true);
  for (const std::string& module : found)
    if (!wanted.contains(module))
      throw Error(ErrorKind::bad_data, fmt::format("{}: holds tensors for {}, which no target of adapter_config.json "
                                                   "names (layers_to_transform and exclude_modules counted)",
                                                   (folder / "adapter_model.safetensors").string(), module));
}

}  // namespace kc
