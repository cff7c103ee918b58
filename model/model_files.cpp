#include "model/model_files_torch.h"

#include <algorithm>
#include <future>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "model/safetensors_torch.h"
#include "weights/tensor_loading.h"
#include "weights/tensor_tables.h"

namespace kc {
namespace {

using nlohmann::json;

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& problem) {
  throw Error(ErrorKind::bad_data, fmt::format("{}: {}", file.string(), problem));
}

// Of the mapped file, beside the loading, which brings the same pages into memory.
std::future<std::string> hash_beside(const CheckpointFiles& files) {
  return std::async(std::launch::async, [&files] {
    const MappedFile& file = files.files().front()->mapped();
    constexpr std::size_t kPiece = std::size_t{8} << 20;
    Sha256 hash;
    for (std::size_t from = 0; from < file.bytes().size(); from += kPiece) {
      const auto piece = file.bytes().subspan(from, std::min(kPiece, file.bytes().size() - from));
      hash.update({reinterpret_cast<const char*>(piece.data()), piece.size()});
      file.release(piece);
    }
    return hash.hex();
  });
}

std::string text_at(const std::filesystem::path& file, const json& root, const char* key) {
  if (!root.contains(key)) return "";
  if (!root[key].is_string()) fail(file, fmt::format("key \"{}\" must be a text, found {}", key, shown(root[key])));
  return root[key];
}

std::int64_t integer_at(const std::filesystem::path& file, const json& root, const char* key) {
  if (!root[key].is_number_integer())
    fail(file, fmt::format("key \"{}\" must be an integer, found {}", key, shown(root[key])));
  return root[key];
}

}  // namespace

GptOssWeights load_weights(const CheckpointFiles& files, const GptOssConfig& config, const std::string& expected_hash) {
  GptOssWeights weights;
  std::vector<LoadTarget> targets;
  for (const TensorHeader& spec : tensor_table(config)) {
    at::Tensor tensor = at::empty(spec.shape, at::TensorOptions().dtype(scalar_type(spec.dtype)));
    targets.push_back({spec, static_cast<std::byte*>(tensor.mutable_data_ptr())});
    weights.tensors[spec.name] = std::move(tensor);
  }
  std::future<std::string> hash;
  if (!expected_hash.empty() && files.files().size() == 1) hash = hash_beside(files);
  load_tensors(files, targets, at::get_num_threads());
  if (hash.valid()) {
    if (const std::string found = hash.get(); found != expected_hash)
      fail(files.files().front()->path(),
           fmt::format("has SHA-256 {}, but manifest.json says {}: damaged, or replaced by hand (then remove "
                       "weights_hash from the manifest)",
                       found, expected_hash));
  }
  return weights;
}

GptOssWeights load_weights(const std::filesystem::path& folder, const GptOssConfig& config,
                           const std::string& expected_hash) {
  return load_weights(CheckpointFiles(folder), config, expected_hash);
}

std::string save_weights(const std::filesystem::path& folder, const GptOssWeights& weights) {
  return write_safetensors(folder / "model.safetensors", weights.tensors);
}

Manifest load_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "manifest.json";
  Manifest m;
  if (!std::filesystem::exists(file)) return m;
  const json root = read_folder_json(file);
  if (!root.is_object() || !root.contains("format_version"))
    fail(file, "not a manifest of a model folder: key \"format_version\" is missing");
  m.format_version = static_cast<int>(integer_at(file, root, "format_version"));
  m.parent = text_at(file, root, "parent");
  m.step = root.contains("step") ? integer_at(file, root, "step") : 0;
  m.stage = text_at(file, root, "stage");
  m.data_hash = text_at(file, root, "data_hash");
  m.config_hash = text_at(file, root, "config_hash");
  m.prompt_hash = text_at(file, root, "prompt_hash");
  m.tokenizer_hash = text_at(file, root, "tokenizer_hash");
  m.weights_hash = text_at(file, root, "weights_hash");
  m.architecture_hash = text_at(file, root, "architecture_hash");
  m.base = text_at(file, root, "base");
  m.base_hash = text_at(file, root, "base_hash");
  if (m.format_version != 1)
    fail(file, fmt::format("format_version {} is not known (this program knows 1)", m.format_version));
  return m;
}

void save_manifest(const std::filesystem::path& folder, const Manifest& m) {
  json root = {{"format_version", m.format_version},
               {"parent", m.parent},
               {"step", m.step},
               {"stage", m.stage},
               {"data_hash", m.data_hash},
               {"config_hash", m.config_hash},
               {"prompt_hash", m.prompt_hash},
               {"tokenizer_hash", m.tokenizer_hash},
               {"weights_hash", m.weights_hash}};
  if (!m.architecture_hash.empty() || m.base.empty()) root["architecture_hash"] = m.architecture_hash;
  if (!m.base.empty()) root.update({{"base", m.base}, {"base_hash", m.base_hash}});
  write_json_file(folder / "manifest.json", root);
}

}  // namespace kc
