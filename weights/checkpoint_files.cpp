#include "weights/checkpoint_files.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "weights/tensor_tables.h"

namespace kc {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

bool is_original(const json& config) {
  return config.is_object() && !config.contains("model_type") && config.contains("num_experts") &&
         config.contains("rope_scaling_factor");
}

// What is no model folder, though it looks like one to whoever names it.
void refuse_adapter_and_run(const fs::path& config_json) {
  const fs::path folder = config_json.parent_path();
  std::error_code ignored;
  if (fs::exists(config_json, ignored)) return;
  constexpr const char* kMerge =
      "merge it into its base first (`checkpoint merge --model BASE --adapter {} --out FOLDER`) and name that folder";
  const auto refuse = [&](const std::string& problem) {
    throw Error(ErrorKind::bad_data, folder.string() + ": " + problem);
  };
  if (fs::exists(folder / "adapter_config.json", ignored))
    refuse("is an adapter (adapter_config.json), not a whole model: " + fmt::format(kMerge, folder.string()));
  if (const auto models = checkpoints_of_run(folder, "config.json"); !models.empty())
    refuse(
        fmt::format("is a run folder, not a model folder: name one of its checkpoints, {}", fmt::join(models, " or ")));
  if (const auto adapters = checkpoints_of_run(folder, "adapter_config.json"); !adapters.empty())
    refuse(fmt::format("is a run folder, and its checkpoints are adapters ({}), not whole models: choose one, {}",
                       fmt::join(adapters, ", "), fmt::format(kMerge, adapters.front())));
}

CheckpointLayout layout_of(const fs::path& config_json) {
  refuse_adapter_and_run(config_json);
  return is_original(read_folder_json(config_json)) ? CheckpointLayout::original : CheckpointLayout::hugging_face;
}

std::set<fs::path> weight_files(const fs::path& folder) {
  std::set<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".safetensors") paths.insert(entry.path());
  return paths;
}

bool is_expert_matrix(const std::string& name) {
  return name.ends_with(".mlp.experts.gate_up_proj") || name.ends_with(".mlp.experts.down_proj");
}

}  // namespace

GptOssConfig load_checkpoint_config(const fs::path& folder) {
  const fs::path file = folder / "config.json";
  return layout_of(file) == CheckpointLayout::original ? load_original_config(file) : load_gpt_oss_config(file);
}

std::vector<std::string> checkpoints_of_run(const fs::path& run, const char* file) {
  std::vector<std::string> folders;
  std::error_code ignored;
  for (const char* name : {"best", "latest", "warm_start"})
    if (fs::is_regular_file(run / name / file, ignored)) folders.push_back((run / name).string());
  return folders;
}

bool has_model_config(const fs::path& folder) {
  const fs::path file = folder / "config.json";
  if (!fs::is_regular_file(file)) return false;
  try {
    const json config = read_folder_json(file);
    return config.contains("model_type") || is_original(config);
  } catch (const Error&) {
    return false;
  }
}

CheckpointFiles::CheckpointFiles(const fs::path& folder, bool tolerant) : folder_(folder) {
  layout_ = layout_of(folder / "config.json");
  bool states_dtype = true;
  if (layout_ == CheckpointLayout::original) {
    config_ = load_original_config(folder / "config.json");
    open_all_files();
  } else {
    config_ = load_gpt_oss_config(folder / "config.json", &states_dtype);
    open_listed_files();
  }
  collect();
  if (!states_dtype) settle_dtype();
  check_table();
  if (tolerant || problems_.empty()) return;
  const std::string more = problems_.size() == 1
                               ? ""
                               : fmt::format(" ({} more problems; `checkpoint verify --model {}` lists them)",
                                             problems_.size() - 1, folder.string());
  throw Error(ErrorKind::bad_data, problems_.front() + more);
}

void CheckpointFiles::complain(const fs::path& file, const std::string& problem) {
  problems_.push_back(printable(fmt::format("{}: {}", file.string(), problem)));
}

void CheckpointFiles::open(const fs::path& file) {
  try {
    files_.push_back(std::make_unique<SafetensorsFile>(file));
  } catch (const Error& error) {
    problems_.push_back(printable(error.what()));  // the file's name may come from the index
  }
}

void CheckpointFiles::open_listed_files() {
  if (fs::exists(folder_ / kSingleFile) || !fs::exists(folder_ / kIndexFile)) {
    const std::set<fs::path> parts = fs::exists(folder_ / kSingleFile) ? std::set<fs::path>{} : weight_files(folder_);
    if (parts.empty()) return open(folder_ / kSingleFile);
    return complain(folder_,
                    fmt::format("holds {} weight file(s), the first {}, but no {}, which says what stands where: "
                                "fetch it from where the files come from",
                                parts.size(), parts.begin()->filename().string(), kIndexFile));
  }
  index_ = folder_ / kIndexFile;
  const json index = read_folder_json(index_);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object())
    throw Error(ErrorKind::bad_data, index_.string() + ": has no weight_map of tensor names to files");
  std::set<std::string> names;
  for (const auto& [name, file] : index["weight_map"].items()) {
    if (!file.is_string() || file.get<std::string>().find('/') != std::string::npos) {
      complain(index_, fmt::format("tensor \"{}\": its file must be a name in the same folder", name));
      continue;
    }
    listed_[name] = file.get<std::string>();
    names.insert(file.get<std::string>());
  }
  for (const std::string& name : names) {
    if (fs::exists(folder_ / name)) {
      open(folder_ / name);
    } else {
      complain(index_, fmt::format("names the file {}, which is absent (first for tensor \"{}\")", name,
                                   std::find_if(listed_.begin(), listed_.end(), [&](const auto& entry) {
                                     return entry.second == name;
                                   })->first));
    }
  }
}

void CheckpointFiles::open_all_files() {
  const std::set<fs::path> paths = weight_files(folder_);
  if (paths.empty()) complain(folder_, "has no *.safetensors file");
  for (const fs::path& path : paths) open(path);
}

void CheckpointFiles::collect() {
  for (const auto& file : files_)
    for (const TensorEntry& entry : file->tensors()) {
      const std::string& name = entry.spec.name;
      const auto [it, added] = stored_.emplace(name, StoredTensor{file.get(), &entry});
      if (!added)
        complain(file->path(),
                 fmt::format("tensor \"{}\" stands in {} as well", name, it->second.file->path().string()));
      const auto listed = listed_.find(name);
      if (!index_.empty() && listed == listed_.end())
        complain(index_,
                 fmt::format("tensor \"{}\" of {} is not in its weight_map", name, file->path().filename().string()));
      if (!index_.empty() && listed != listed_.end() && listed->second != file->path().filename())
        complain(index_, fmt::format("tensor \"{}\": said to be in {}, but stands in {}", name, listed->second,
                                     file->path().filename().string()));
    }
  for (const auto& [name, file] : listed_)
    if (!stored_.contains(name) && std::any_of(files_.begin(), files_.end(), [&wanted = file](const auto& opened) {
          return opened->path().filename() == wanted;
        }))
      complain(index_, fmt::format("tensor \"{}\" is said to be in {}, which does not hold it", name, file));
}

void CheckpointFiles::settle_dtype() {
  const StoredTensor embedding = find("model.embed_tokens.weight");
  if (embedding.file != nullptr) config_.dtype = embedding.entry->spec.dtype == Dtype::bf16 ? "bfloat16" : "float32";
}

void CheckpointFiles::check_table() {
  const std::vector<TensorHeader> table =
      layout_ == CheckpointLayout::original ? original_tensor_table(config_) : tensor_table(config_);
  const fs::path& where = !index_.empty()                         ? index_
                          : layout_ == CheckpointLayout::original ? folder_
                          : files_.empty()                        ? folder_
                                                                  : files_.front()->path();
  const bool says_missing =
      !files_.empty() || problems_.empty();  // else a file is missing or damaged: all of its tensors
  std::set<std::string> known;
  for (const TensorHeader& wanted : table) {
    known.insert(wanted.name);
    const StoredTensor found = find(wanted.name);
    if (found.file == nullptr) {
      if (says_missing) complain(where, fmt::format("tensor \"{}\" is missing", wanted.name));
      continue;
    }
    const TensorHeader& spec = found.entry->spec;
    if (spec.shape != wanted.shape)
      complain(found.file->path(), fmt::format("tensor \"{}\" has shape {}, config.json asks for {}", wanted.name,
                                               shape_text(spec.shape), shape_text(wanted.shape)));
    if (spec.dtype != wanted.dtype)
      complain(found.file->path(), fmt::format("tensor \"{}\" has dtype {}, config.json asks for {}", wanted.name,
                                               name_of(spec.dtype), name_of(wanted.dtype)));
  }
  for (const auto& [name, tensor] : stored_)
    if (!known.contains(name)) complain(tensor.file->path(), fmt::format("tensor \"{}\" is unexpected", name));
}

std::int64_t CheckpointFiles::bytes() const {
  std::int64_t sum = 0;
  for (const auto& [name, tensor] : stored_) sum += tensor.entry->spec.bytes();
  return sum;
}

std::optional<std::int64_t> CheckpointFiles::stated_bytes() const {
  if (index_.empty()) return std::nullopt;
  const json root = read_folder_json(index_);
  if (!root.contains("metadata")) return std::nullopt;
  if (!root["metadata"].is_object())
    throw Error(ErrorKind::bad_data, fmt::format("{}: metadata is {}: expected an object, in it total_size",
                                                 index_.string(), shown(root["metadata"])));
  if (!root["metadata"].contains("total_size")) return std::nullopt;
  const json& size = root["metadata"]["total_size"];
  const bool whole = size.is_number() && size.get<double>() >= 0 && size.get<double>() < 0x1p53 &&
                     size.get<double>() == std::floor(size.get<double>());
  if (!whole)
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: metadata.total_size is {}: expected a number of bytes", index_.string(), shown(size)));
  return static_cast<std::int64_t>(size.get<double>());
}

StoredTensor CheckpointFiles::find(const std::string& stored_name) const {
  const auto it = stored_.find(stored_name);
  return it == stored_.end() ? StoredTensor{} : it->second;
}

TensorSource CheckpointFiles::source(const TensorHeader& wanted) const {
  const auto lookup = [&](const std::string& name) {
    TensorSource source;
    if (layout_ == CheckpointLayout::original) {
      const OriginalPlace place = original_place(config_, name);
      source.first_row = place.first_row;
      source.values = find(place.name);
    } else {
      source.values = find(name);
    }
    return source;
  };
  TensorSource source = lookup(wanted.name);
  if (source.values.file != nullptr) return source;
  if (is_expert_matrix(wanted.name)) {
    source = lookup(wanted.name + "_blocks");
    source.scales = lookup(wanted.name + "_scales").values;
    if (source.values.file != nullptr && source.scales.file != nullptr) return source;
  }
  const bool packed = wanted.name.ends_with("_blocks") || wanted.name.ends_with("_scales");
  throw Error(ErrorKind::bad_data,
              fmt::format("{}: tensor \"{}\" is not there{}", folder_.string(), wanted.name,
                          packed ? ": this folder's experts are expanded, so they cannot be kept as MXFP4" : ""));
}

}  // namespace kc
