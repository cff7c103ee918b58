#include <algorithm>
#include <optional>

#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "base/error.h"
#include "model/lora_pairs_torch.h"

namespace kc {
namespace {

struct Kind {
  const char* name;  // in the file
  const char* ours;
  bool number_first;  // experts.N.name, otherwise experts.name.N
};
constexpr Kind kKinds[] = {{"gate_proj", "gate_proj", true},
                           {"up_proj", "up_proj", true},
                           {"down_proj", "down_proj", true},
                           {"gate_up_projs", "gate_up_proj", false},
                           {"down_projs", "down_proj", false}};

struct Place {
  std::string kind;
  bool number_first = false;  // as in Kind
};

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// Nothing when the path is not of a single expert.
std::optional<Place> place_of(const std::string& path) {
  const std::string experts = ".mlp.experts";
  const std::size_t at = path.find(experts + ".");
  if (at == std::string::npos) return std::nullopt;
  const std::string rest = path.substr(at + experts.size() + 1);
  const std::size_t dot = rest.find('.');
  if (dot == std::string::npos) return std::nullopt;
  const std::string first = rest.substr(0, dot), second = rest.substr(dot + 1);
  if (is_number(first)) return Place{second, true};
  if (is_number(second)) return Place{first, false};
  return std::nullopt;
}

std::string path_of(const std::string& experts, const Kind& kind, std::int64_t expert) {
  return kind.number_first ? fmt::format("{}.{}.{}", experts, expert, kind.name)
                           : fmt::format("{}.{}.{}", experts, kind.name, expert);
}

// Whether the file has pairs of single experts, and in which of the two layouts.
std::optional<bool> layout_of(const AdapterPairs& pairs) {
  std::optional<bool> number_first;
  for (const auto& [path, pair] : pairs.by_path) {
    const std::optional<Place> place = place_of(path);
    if (!place) continue;
    const bool known = std::ranges::any_of(
        kKinds, [&](const Kind& k) { return k.name == place->kind && k.number_first == place->number_first; });
    if (!known)
      pairs.fail(path,
                 fmt::format("\"{}\" of a single expert is no known layout (experts.N.gate_proj, up_proj and "
                             "down_proj are, and experts.gate_up_projs.N and down_projs.N): where gate's and up's "
                             "rows stand would be a guess; convert the adapter to PEFT's layout over all experts",
                             place->kind));
    if (number_first && *number_first != place->number_first)
      pairs.fail(path, "stands in another layout of single experts than the pairs before it");
    number_first = place->number_first;
  }
  return number_first;
}

// All experts of one kind in one layer, as LoraAdapter names them.
AdaptedModule joined_module(const GptOssConfig& c, const std::string& experts, const Kind& kind) {
  const std::string name = kind.ours;
  if (name == "down_proj") return {experts + "." + name, c.intermediate_size, c.hidden_size, true};
  const std::int64_t width = name == "gate_up_proj" ? 2 * c.intermediate_size : c.intermediate_size;
  return {experts + "." + name, c.hidden_size, width, true};
}

// Moves the pairs at `paths`, one for each expert; those that were there are `found`.
void take_kind(AdapterPairs& pairs, const std::vector<std::string>& paths, const AdaptedModule& joined,
               LoraAdapter& adapter, std::set<std::string>& found) {
  const auto experts = static_cast<std::int64_t>(paths.size());
  LowRank all{at::zeros({experts, adapter.rank, joined.in}, at::kFloat),
              at::zeros({experts, joined.out, adapter.rank}, at::kFloat)};
  bool any = false;
  for (std::int64_t e = 0; e < experts; ++e) {
    const std::string& path = paths[static_cast<std::size_t>(e)];
    const auto pair = pairs.by_path.find(path);
    if (pair == pairs.by_path.end()) continue;
    pairs.expect_shape(path, "A", pair->second.a, {adapter.rank, joined.in});
    pairs.expect_shape(path, "B", pair->second.b, {joined.out, adapter.rank});
    all.a.select(0, e).copy_(pair->second.a);
    all.b.select(0, e).copy_(pair->second.b);
    any = true;
    found.insert(path);
    pairs.by_path.erase(pair);
  }
  if (any) put_pair(adapter, joined.name, all);
}

}  // namespace

std::vector<AdaptedModule> take_single_experts(AdapterPairs& pairs, const GptOssConfig& config, LoraAdapter& adapter,
                                               std::set<std::string>& found) {
  const std::optional<bool> number_first = layout_of(pairs);
  std::vector<AdaptedModule> modules;
  for (std::int64_t layer = 0; number_first && layer < config.num_hidden_layers; ++layer) {
    const std::string experts = layer_name(layer, "mlp.experts");
    for (const Kind& kind : kKinds) {
      if (kind.number_first != *number_first) continue;
      const AdaptedModule joined = joined_module(config, experts, kind);
      std::vector<std::string> paths;
      for (std::int64_t e = 0; e < config.num_local_experts; ++e) {
        paths.push_back(path_of(experts, kind, e));
        modules.push_back({paths.back(), joined.in, joined.out});
      }
      take_kind(pairs, paths, joined, adapter, found);
    }
    if (low_rank(adapter, experts + ".gate_proj").defined() != low_rank(adapter, experts + ".up_proj").defined())
      pairs.fail(experts, "has only one of gate_proj and up_proj");
  }
  return modules;
}

}  // namespace kc
