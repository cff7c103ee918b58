#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ATen/ops/all.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/item.h>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "model/lora_pairs_torch.h"
#include "model/lora_targets_torch.h"
#include "model/safetensors_torch.h"

namespace kc {
namespace {

constexpr const char* kFile = "adapter_model.safetensors";
constexpr const char* kHeadCopy = "lm_head.base_layer.weight";

bool is_tinker(const AdapterPairs& pairs) {
  return std::any_of(pairs.by_path.begin(), pairs.by_path.end(), [](const auto& entry) {
    const std::string& path = entry.first;
    return path.find(".attn.") != std::string::npos || path.find(".mlp.experts.w") != std::string::npos ||
           path == "model.unembed_tokens";
  });
}

void put_side(AdapterPairs& pairs, const std::string& rest, const at::Tensor& tensor) {
  for (const bool is_a : {true, false}) {
    const std::string ending = is_a ? ".lora_A.weight" : ".lora_B.weight";
    if (!rest.ends_with(ending)) continue;
    if (!at::isFloatingType(tensor.scalar_type())) pairs.fail(rest, "expected floating-point numbers");
    LowRank& pair = pairs.by_path[rest.substr(0, rest.size() - ending.size())];
    (is_a ? pair.a : pair.b) = tensor.to(at::kFloat);
    return;
  }
  pairs.fail(rest, "is unexpected: only lora_A.weight and lora_B.weight of attention, experts and lm_head are known");
}

AdapterPairs read_pairs(const std::filesystem::path& folder, const std::function<at::Tensor()>& head_of_base) {
  AdapterPairs pairs{folder / kFile, {}};
  for (const auto& [name, tensor] : read_safetensors(pairs.file)) {
    if (!name.starts_with(kAdapterPrefix))
      throw Error(ErrorKind::bad_data, fmt::format("{}: tensor \"{}\" is unexpected: names start with {}",
                                                   pairs.file.string(), printable(name), kAdapterPrefix));
    const std::string rest = name.substr(std::string(kAdapterPrefix).size());
    if (rest != kHeadCopy) {
      put_side(pairs, rest, tensor);
      continue;
    }
    const at::Tensor head = head_of_base();
    if (tensor.sizes() != head.sizes() || !tensor.to(head.scalar_type()).equal(head))
      pairs.fail(rest, "is not the base's lm_head: the adapter belongs to another base");
  }
  for (const auto& [path, pair] : pairs.by_path)
    if (!pair.a.defined() || !pair.b.defined()) {
      pairs.fail(path, "has only one of lora_A and lora_B");
    } else if (!at::isfinite(pair.a).all().item<bool>() || !at::isfinite(pair.b).all().item<bool>()) {
      pairs.fail(path, "holds numbers that are not finite");
    }
  return pairs;
}

// Whether there was one.
bool take_linear(AdapterPairs& pairs, const std::string& path, const AdaptedModule& module, LoraAdapter& adapter) {
  const auto found = pairs.by_path.find(path);
  if (found == pairs.by_path.end()) return false;
  pairs.expect_shape(path, "A", found->second.a, {adapter.rank, module.in});
  pairs.expect_shape(path, "B", found->second.b, {module.out, adapter.rank});
  put_pair(adapter, module.name, found->second);
  pairs.by_path.erase(found);
  return true;
}

// ---- Tinker

// Either side may be shared by all experts.
void take_tinker_experts(AdapterPairs& pairs, const std::string& experts, const GptOssConfig& c, LoraAdapter& adapter) {
  struct Part {
    const char* theirs;
    const char* ours;
    std::int64_t in, out;
  };
  for (const Part& part : {Part{"w1", "gate_proj", c.hidden_size, c.intermediate_size},
                           Part{"w3", "up_proj", c.hidden_size, c.intermediate_size},
                           Part{"w2", "down_proj", c.intermediate_size, c.hidden_size}}) {
    const std::string path = experts + "." + part.theirs;
    const auto found = pairs.by_path.find(path);
    if (found == pairs.by_path.end()) continue;
    const auto side = [&](const at::Tensor& t) {
      return t.dim() == 3 && t.size(0) == 1 ? std::int64_t{1} : c.num_local_experts;
    };
    const LowRank& pair = found->second;
    pairs.expect_shape(path, "A", pair.a, {side(pair.a), adapter.rank, part.in});
    pairs.expect_shape(path, "B", pair.b, {side(pair.b), part.out, adapter.rank});
    put_pair(adapter, experts + "." + part.ours, pair);
    pairs.by_path.erase(found);
  }
  if (low_rank(adapter, experts + ".gate_proj").defined() != low_rank(adapter, experts + ".up_proj").defined())
    pairs.fail(experts, "has only one of w1 (gate) and w3 (up)");
}

void take_tinker(AdapterPairs& pairs, const GptOssConfig& config, LoraAdapter& adapter) {
  for (const AdaptedModule& module : adaptable_modules(config)) {
    std::string path = module.name == "lm_head" ? "model.unembed_tokens" : module.name;
    if (const auto at = path.find(".self_attn."); at != std::string::npos) path.replace(at, 11, ".attn.");
    if (!module.experts) take_linear(pairs, path, module, adapter);
    if (module.name.ends_with(".gate_up_proj"))
      take_tinker_experts(pairs, module.name.substr(0, module.name.rfind('.')), config, adapter);
  }
}

// ---- PEFT

// Which parameter an expert pair belongs to, whatever the nesting and orientation: by its two outer sizes.
bool is_gate_up(const AdapterPairs& pairs, const std::string& path, const LowRank& pair, const GptOssConfig& c) {
  if (pair.a.dim() != 2 || pair.b.dim() != 2) pairs.fail(path, "expected two matrices");
  const auto sizes = std::minmax({pair.a.size(1), pair.b.size(0)});
  const auto is = [&](std::int64_t width) { return sizes == std::minmax({c.hidden_size, width}); };
  const std::int64_t doubled = 2 * c.intermediate_size;
  const std::int64_t width = c.intermediate_size;
  if (is(doubled)) return true;
  if (is(width)) return false;
  pairs.fail(path,
             fmt::format("lora_A has {} columns and lora_B {} rows: neither gate_up_proj ({} and {}) nor down_proj "
                         "({} and {})",
                         pair.a.size(1), pair.b.size(0), c.hidden_size, doubled, width, c.hidden_size));
}

struct ExpertPair {
  std::string path;
  AdaptedModule module;
  LowRank pair;
};

std::vector<ExpertPair> expert_pairs(AdapterPairs& pairs, const GptOssConfig& config) {
  std::vector<ExpertPair> found;
  const std::vector<AdaptedModule> modules = adaptable_modules(config);
  for (std::size_t i = 0; i + 1 < modules.size(); ++i) {
    if (!modules[i].name.ends_with(".gate_up_proj")) continue;
    const std::string experts = modules[i].name.substr(0, modules[i].name.rfind('.'));
    for (const std::string& path : {experts + ".base_layer", experts}) {
      const auto at = pairs.by_path.find(path);
      if (at == pairs.by_path.end()) continue;
      const bool gate_up = is_gate_up(pairs, path, at->second, config);
      if (!found.empty() && found.back().module.name == modules[gate_up ? i : i + 1].name)
        pairs.fail(path, "is a second pair for the same parameter");
      found.push_back({path, modules[gate_up ? i : i + 1], at->second});
      pairs.by_path.erase(at);
    }
  }
  return found;
}

// One orientation for the whole file: gate_up decides, since down's sizes may be equal.
bool written_transposed(const AdapterPairs& pairs, const std::vector<ExpertPair>& experts) {
  const ExpertPair* decider = nullptr;
  for (const ExpertPair& e : experts)
    if (decider == nullptr ||
        (e.module.name.ends_with(".gate_up_proj") && !decider->module.name.ends_with(".gate_up_proj")))
      decider = &e;
  if (decider == nullptr) return false;
  const bool straight = decider->pair.a.size(1) == decider->module.in && decider->pair.b.size(0) == decider->module.out;
  if (straight && decider->module.in == decider->module.out)
    log::warning(
        fmt::format("{}: the sizes of the expert pairs do not tell their orientation; taken as written over "
                    "transformers 5",
                    pairs.file.string()));
  return !straight;
}

// `found` holds the single experts that were taken before, and gets what is taken here.
void take_peft(AdapterPairs& pairs, const GptOssConfig& config, LoraAdapter& adapter, std::set<std::string>& found) {
  const std::vector<ExpertPair> experts = expert_pairs(pairs, config);
  if (!experts.empty() && !found.empty())
    pairs.fail(experts.front().path, "is of all experts, but the file holds pairs of single experts as well");
  for (const AdaptedModule& module : adaptable_modules(config))
    if (!module.experts && take_linear(pairs, module.name, module, adapter)) found.insert(module.name);
  const bool transposed = written_transposed(pairs, experts);
  const std::int64_t rows = adapter.rank * config.num_local_experts;
  for (const ExpertPair& e : experts) {
    pairs.expect_shape(e.path, "A", e.pair.a, {rows, transposed ? e.module.out : e.module.in});
    pairs.expect_shape(e.path, "B", e.pair.b, {transposed ? e.module.in : e.module.out, rows});
    found.insert(e.module.name);
    put_pair(adapter, e.module.name, unpack_experts(e.pair, config.num_local_experts, transposed));
  }
}

}  // namespace

void AdapterPairs::fail(const std::string& path, const std::string& problem) const {
  throw Error(ErrorKind::bad_data,
              printable(fmt::format("{}: {}{}: {}", file.string(), kAdapterPrefix, path, problem)));
}

void AdapterPairs::expect_shape(const std::string& path, const char* side, const at::Tensor& tensor,
                                const std::vector<std::int64_t>& shape) const {
  if (tensor.sizes() == at::IntArrayRef(shape)) return;
  fail(path + ".lora_" + side + ".weight",
       fmt::format("has shape [{}], this model and adapter_config.json's r ask for [{}]",
                   fmt::join(tensor.sizes().vec(), ", "), fmt::join(shape, ", ")));
}

void put_pair(LoraAdapter& adapter, const std::string& module, const LowRank& pair) {
  adapter.tensors[module + ".lora_A"] = pair.a.contiguous();
  adapter.tensors[module + ".lora_B"] = pair.b.contiguous();
}

LoraAdapter load_adapter(const std::filesystem::path& folder, const GptOssConfig& config, const GptOssWeights& base) {
  return load_adapter(folder, config, [&] {
    return base.tensors.at(config.tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight");
  });
}

LoraAdapter load_adapter(const std::filesystem::path& folder, const GptOssConfig& config,
                         const std::function<at::Tensor()>& head) {
  const AdapterConfig settings = load_adapter_config(folder);
  LoraAdapter adapter{settings.rank, settings.alpha, settings.rank_stabilised, {}};
  AdapterPairs pairs = read_pairs(folder, head);
  const bool tinker = is_tinker(pairs);
  std::set<std::string> found;
  std::vector<AdaptedModule> modules;  // that targets can name
  if (tinker) {
    take_tinker(pairs, config, adapter);
  } else {
    modules = take_single_experts(pairs, config, adapter, found);
    take_peft(pairs, config, adapter, found);
  }
  if (!pairs.by_path.empty())
    pairs.fail(pairs.by_path.begin()->first,
               "is unexpected: this model has no such module, or it has no adapter here (router, embedding)");
  if (adapter.empty()) throw Error(ErrorKind::bad_data, pairs.file.string() + ": holds no adapter");
  if (tinker) return adapter;
  const std::vector<AdaptedModule> usual = adaptable_modules(config);
  modules.insert(modules.end(), usual.begin(), usual.end());
  check_targets(folder, settings, modules, found);
  return adapter;
}

}  // namespace kc
