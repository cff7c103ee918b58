#include "weights/inspection.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/table.h"

namespace kc {
namespace {

bool has(const std::string& name, const char* part) { return name.find(part) != std::string::npos; }

std::string group_of(const std::string& name) {
  if (has(name, "unembedding") || has(name, "lm_head")) return "head";
  if (has(name, "embed")) return "embedding";
  if (has(name, "norm")) return "norms";
  if (has(name, "sinks")) return "attention sinks";
  if (has(name, "attn")) return "attention";
  if (has(name, "router") || has(name, "mlp.gate.")) return "routers";
  return "experts";
}

bool is_scales(const std::string& name) { return name.ends_with("_scales") || name.ends_with(".scales"); }
bool is_blocks(const std::string& name) { return name.ends_with("_blocks") || name.ends_with(".blocks"); }

std::int64_t values_of(const TensorHeader& spec) {
  if (spec.dtype != Dtype::u8) return spec.elements();
  return is_scales(spec.name) ? 0 : is_blocks(spec.name) ? 2 * spec.elements() : spec.elements();
}

// 20914757184 as "20,914,757,184".
std::string grouped(std::int64_t value) {
  std::string text = std::to_string(value);
  for (auto i = static_cast<std::ptrdiff_t>(text.size()) - 3; i > 0; i -= 3)
    text.insert(static_cast<std::size_t>(i), 1, ',');
  return text;
}

std::string layout_name(CheckpointLayout layout) {
  return layout == CheckpointLayout::original ? "original" : "hugging_face";
}

std::string expert_name(const GptOssConfig& c) { return c.experts == ExpertStorage::mxfp4 ? "mxfp4" : c.dtype; }

// Layers whose experts are expanded though the others are packed.
std::vector<std::int64_t> expanded_layers(const GptOssConfig& c) {
  std::vector<std::int64_t> layers;
  for (std::int64_t i = 0; i < c.num_hidden_layers; ++i)
    if (c.experts_of(i) != c.experts) layers.push_back(i);
  return layers;
}

}  // namespace

Inspection inspect(const CheckpointFiles& files) {
  Inspection result;
  result.config = files.config();
  result.layout = files.layout();
  result.files = static_cast<std::int64_t>(files.files().size());
  for (const char* name : {"embedding", "attention", "attention sinks", "routers", "experts", "norms", "head"})
    result.groups.push_back({.name = name});
  for (const auto& file : files.files())
    for (const TensorEntry& entry : file->tensors()) {
      const std::string name = group_of(entry.spec.name);
      auto& group = *std::ranges::find(result.groups, name, &ParameterGroup::name);
      ++group.tensors;
      group.parameters += values_of(entry.spec);
      group.bytes += entry.spec.bytes();
    }
  std::erase_if(result.groups, [](const ParameterGroup& g) { return g.tensors == 0; });
  for (const ParameterGroup& group : result.groups) {
    result.parameters += group.parameters;
    result.bytes += group.bytes;
  }
  return result;
}

nlohmann::json to_json(const Inspection& inspection, const CheckpointFiles& files) {
  const GptOssConfig& c = inspection.config;
  nlohmann::json root = {{"layout", layout_name(inspection.layout)},
                         {"dtype", c.dtype},
                         {"experts", expert_name(c)},
                         {"expanded_layers", expanded_layers(c)},
                         {"parameters", inspection.parameters},
                         {"active_parameters", c.active_parameters()},
                         {"bytes", inspection.bytes},
                         {"layers", c.num_hidden_layers},
                         {"files", nlohmann::json::array()},
                         {"groups", nlohmann::json::array()},
                         {"tensors", nlohmann::json::array()}};
  for (const ParameterGroup& g : inspection.groups)
    root["groups"].push_back(
        {{"name", g.name}, {"tensors", g.tensors}, {"parameters", g.parameters}, {"bytes", g.bytes}});
  for (const auto& file : files.files()) {
    const std::string name = printable(file->path().filename().string());  // any bytes, and JSON is UTF-8
    root["files"].push_back({{"name", name}, {"bytes", file->mapped().bytes().size()}});
    for (const TensorEntry& entry : file->tensors())
      root["tensors"].push_back({{"name", entry.spec.name},
                                 {"dtype", name_of(entry.spec.dtype)},
                                 {"shape", entry.spec.shape},
                                 {"parameters", values_of(entry.spec)},
                                 {"file", name}});
  }
  return root;
}

std::string to_text(const Inspection& inspection) {
  const GptOssConfig& c = inspection.config;
  Table table({"part", "tensors", "parameters", "bytes"});
  std::int64_t tensors = 0;
  const std::size_t expanded = expanded_layers(c).size();
  for (const ParameterGroup& g : inspection.groups) {
    table.add_row({g.name, grouped(g.tensors), grouped(g.parameters), grouped(g.bytes)});
    tensors += g.tensors;
  }
  table.add_rule();
  table.add_row({"all", grouped(tensors), grouped(inspection.parameters), grouped(inspection.bytes)});
  return fmt::format(
      "{}: {} layers, {} experts of which a token uses {}, hidden {}, vocabulary {}; {}, experts {}, {} "
      "file(s)\n\n{}\n{} parameters take part in a token's forward pass (without the embedding's table)\n",
      layout_name(inspection.layout), c.num_hidden_layers, c.num_local_experts, c.num_experts_per_tok, c.hidden_size,
      c.vocab_size, c.dtype,
      expert_name(c) + (expanded == 0 ? "" : fmt::format(" ({} in {} layer(s))", c.dtype, expanded)), inspection.files,
      table.render(), grouped(c.active_parameters()));
}

}  // namespace kc
