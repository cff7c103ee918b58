#include "model/model_files_torch.h"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "model/safetensors_torch.h"

namespace kc {
namespace {

using nlohmann::json;
using Tensors = std::map<std::string, at::Tensor>;

constexpr const char* kWeights = "model.safetensors";

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& problem) {
  throw Error(ErrorKind::bad_data, fmt::format("{}: {}", file.string(), problem));
}

Tensors read_shards(const std::filesystem::path& index_file) {
  const json index = read_json_file(index_file);
  if (!index.contains("weight_map") || !index["weight_map"].is_object()) fail(index_file, "has no weight_map");
  std::set<std::string> files;
  for (const auto& [name, file] : index["weight_map"].items()) {
    if (!file.is_string() || file.get<std::string>().find('/') != std::string::npos)
      fail(index_file, fmt::format("tensor \"{}\": its file must be a name in the same folder", name));
    files.insert(file.get<std::string>());
  }
  Tensors all;
  for (const std::string& file : files)
    for (auto& [name, tensor] : read_safetensors(index_file.parent_path() / file))
      if (!all.emplace(name, tensor).second) fail(index_file, fmt::format("tensor \"{}\" stands in two shards", name));
  return all;
}

void check_tensors(const std::filesystem::path& file, const Tensors& tensors, const GptOssConfig& config) {
  const WeightShapes shapes = weight_shapes(config);
  const at::ScalarType dtype = config.dtype == "bfloat16" ? at::kBFloat16 : at::kFloat;
  for (const auto& [name, shape] : shapes) {
    const auto it = tensors.find(name);
    if (it == tensors.end()) fail(file, fmt::format("tensor \"{}\" is missing", name));
    if (it->second.sizes() != at::IntArrayRef(shape))
      fail(file, fmt::format("tensor \"{}\" has shape [{}], config.json asks for [{}]", name,
                             fmt::join(it->second.sizes().vec(), ", "), fmt::join(shape, ", ")));
    if (it->second.scalar_type() != dtype)
      fail(file, fmt::format("tensor \"{}\" has dtype {}, config.json asks for {}", name,
                             c10::toString(it->second.scalar_type()), config.dtype));
  }
  for (const auto& [name, tensor] : tensors)
    if (!shapes.contains(name)) fail(file, fmt::format("tensor \"{}\" is unexpected", name));
}

}  // namespace

GptOssWeights load_weights(const std::filesystem::path& folder, const GptOssConfig& config,
                           const std::string& expected_hash) {
  const std::filesystem::path file = folder / kWeights;
  const std::filesystem::path index = folder / "model.safetensors.index.json";
  const bool sharded = !std::filesystem::exists(file) && std::filesystem::exists(index);
  GptOssWeights weights{sharded ? read_shards(index) : read_safetensors(file)};
  check_tensors(sharded ? index : file, weights.tensors, config);
  if (!sharded && !expected_hash.empty()) {
    const std::string hash = sha256_hex(read_file(file));
    if (hash != expected_hash)
      fail(file, fmt::format("has SHA-256 {}, but manifest.json says {}: damaged, or replaced by hand (then remove "
                             "weights_hash from the manifest)",
                             hash, expected_hash));
  }
  return weights;
}

std::string save_weights(const std::filesystem::path& folder, const GptOssWeights& weights) {
  const std::filesystem::path file = folder / kWeights;
  write_safetensors(file, weights.tensors);
  return sha256_hex(read_file(file));
}

Manifest load_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "manifest.json";
  Manifest m;
  if (!std::filesystem::exists(file)) return m;
  const json root = read_json_file(file);
  try {
    m.format_version = root.at("format_version").get<int>();
    m.parent = root.value("parent", "");
    m.step = root.value("step", std::int64_t{0});
    m.stage = root.value("stage", "");
    m.data_hash = root.value("data_hash", "");
    m.config_hash = root.value("config_hash", "");
    m.prompt_hash = root.value("prompt_hash", "");
    m.tokenizer_hash = root.value("tokenizer_hash", "");
    m.weights_hash = root.value("weights_hash", "");
    m.architecture_hash = root.value("architecture_hash", "");
  } catch (const json::exception& e) {
    fail(file, fmt::format("not a manifest of a model folder: {}", e.what()));
  }
  if (m.format_version != 1)
    fail(file, fmt::format("format_version {} is not known (this program knows 1)", m.format_version));
  return m;
}

void save_manifest(const std::filesystem::path& folder, const Manifest& m) {
  write_json_file(folder / "manifest.json", json{{"format_version", m.format_version},
                                                 {"parent", m.parent},
                                                 {"step", m.step},
                                                 {"stage", m.stage},
                                                 {"data_hash", m.data_hash},
                                                 {"config_hash", m.config_hash},
                                                 {"prompt_hash", m.prompt_hash},
                                                 {"tokenizer_hash", m.tokenizer_hash},
                                                 {"weights_hash", m.weights_hash},
                                                 {"architecture_hash", m.architecture_hash}});
}

}  // namespace kc
