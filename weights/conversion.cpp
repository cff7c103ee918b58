#include "weights/conversion.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/progress.h"
#include "weights/tensor_loading.h"
#include "weights/tensor_tables.h"

namespace kc {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Reads some ranges of rows at once, writes them in order.
class Stream {
 public:
  Stream(CheckpointWriter& writer, Progress& progress, int threads, const std::stop_token& stop)
      : writer_(writer), progress_(progress), threads_(threads > 0 ? threads : usable_cores()), stop_(stop) {}

  void copy(const TensorSource& source, const TensorHeader& spec) {
    const auto ranges = row_ranges(spec);
    const std::int64_t row = spec.bytes() / std::max<std::int64_t>(1, spec.shape.empty() ? 1 : spec.shape[0]);
    for (std::size_t first = 0; first < ranges.size(); first += static_cast<std::size_t>(threads_)) {
      if (stop_.stop_requested()) throw Error(ErrorKind::interrupted, "interrupted; nothing was written");
      const std::size_t count = std::min(ranges.size() - first, static_cast<std::size_t>(threads_));
      buffers_.resize(std::max(buffers_.size(), count));
      run_in_parallel(static_cast<std::int64_t>(count), threads_, [&](std::int64_t i) {
        const auto& [from, to] = ranges[first + static_cast<std::size_t>(i)];
        std::vector<std::byte>& buffer = buffers_[static_cast<std::size_t>(i)];
        buffer.resize(static_cast<std::size_t>((to - from) * row));
        read_rows(source, spec, from, to, buffer.data());
      });
      for (std::size_t i = 0; i < count; ++i) {
        writer_.write(buffers_[i]);
        done_ += static_cast<std::int64_t>(buffers_[i].size());
      }
      progress_.advance((done_ >> 20) - shown_);
      shown_ = done_ >> 20;
    }
  }

 private:
  CheckpointWriter& writer_;
  Progress& progress_;
  int threads_;
  const std::stop_token& stop_;
  std::vector<std::vector<std::byte>> buffers_;
  std::int64_t done_ = 0, shown_ = 0;
};

bool is_rewritten(const std::string& name) {
  return name == "config.json" || name == "manifest.json" || name == "model.safetensors.index.json";
}

bool is_copied(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  return entry.is_regular_file() && entry.path().extension() != ".safetensors" && name != "dtypes.json" &&
         !is_rewritten(name);
}

// model.safetensors, or model-00001-of-00002.safetensors with any ten digits.
bool is_weight_file(const std::string& name) {
  constexpr std::string_view kShard = "model-00000-of-00000.safetensors";
  return name == "model.safetensors" ||
         std::equal(name.begin(), name.end(), kShard.begin(), kShard.end(), [](char found, char wanted) {
           return wanted == '0' ? found >= '0' && found <= '9' : found == wanted;
         });
}

bool is_mount_point(const fs::path& path) {
  struct statx found = {};
  return ::statx(AT_FDCWD, path.c_str(), AT_NO_AUTOMOUNT, 0, &found) == 0 &&
         (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

// Why the finished folder must not, or could not, be renamed to `out`; empty: nothing is in the way.
std::string irreplaceable(const fs::path& out) {
  const fs::path entry = out.has_filename() ? out : out.parent_path();
  if (entry.empty()) return "is empty: give the name of a folder";
  if (fs::is_symlink(entry))
    return fmt::format(
        "is a symbolic link, which the result would replace: give the folder itself, {}, or another place",
        fs::read_symlink(entry).string());
  std::error_code ignored;
  if (entry.filename() == "." || entry.filename() == ".." || fs::equivalent(entry, ".", ignored))
    return "is the current folder, or ends in . or .., and cannot be replaced: give another place";
  return is_mount_point(entry) ? "is a mount point, which cannot be replaced: give a folder in it, or another place"
                               : "";
}

// Names in `out` that are no model's weights and would not be in a result whose other files come from `copied_from`.
std::vector<std::string> would_be_lost(const fs::path& out, const fs::path& copied_from) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(out)) {
    const std::string name = entry.path().filename().string();
    const bool replaced = entry.is_regular_file() && (is_rewritten(name) || is_weight_file(name) ||
                                                      is_copied(fs::directory_entry(copied_from / name)));
    if (!replaced) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

GptOssConfig wanted_config(const CheckpointFiles& files, const ConversionOptions& options) {
  GptOssConfig config = files.config();
  if (options.experts) config.experts = *options.experts;
  if (!options.dtype.empty() && options.dtype != "float32" && options.dtype != "bfloat16")
    throw Error(ErrorKind::usage, fmt::format("unknown dtype '{}': expected float32 or bfloat16", options.dtype));
  if (!options.dtype.empty()) config.dtype = options.dtype;
  return config;
}

}  // namespace

void require_output_folder(const fs::path& out, const fs::path& copied_from, const std::vector<fs::path>& read) {
  const auto refuse = [&](const std::string& problem) {
    throw Error(ErrorKind::usage, printable(fmt::format("--out {}: {}", out.string(), problem)));
  };
  const fs::path place = fs::weakly_canonical(out);
  for (const fs::path& folder : read) {
    const fs::path from = fs::weakly_canonical(folder);
    if (std::mismatch(from.begin(), from.end(), place.begin(), place.end()).first == from.end())
      refuse("is the folder " + folder.string() + ", which is read, or lies in it: give another place");
  }
  if (const std::string problem = irreplaceable(out); !problem.empty()) refuse(problem);
  if (!fs::exists(out)) {
    const fs::path parent = fs::absolute(out.has_filename() ? out : out.parent_path()).parent_path();
    if (!fs::is_directory(parent)) refuse("the folder " + parent.string() + " is not there: make it first");
    return;
  }
  if (!fs::is_directory(out) || (!fs::is_empty(out) && !has_model_config(out)))
    refuse("exists and is no model folder (no config.json of a model): give another place");
  const std::vector<std::string> strangers = would_be_lost(out, copied_from);
  if (!strangers.empty())
    refuse(fmt::format("holds {}{}, which the result would not have: move it away, or give another place",
                       strangers.front(),
                       strangers.size() == 1 ? "" : fmt::format(" and {} more file(s)", strangers.size() - 1)));
}

void copy_other_files(const fs::path& folder, const fs::path& out) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!is_copied(entry)) continue;
    std::error_code error;
    fs::copy_file(entry.path(), out / entry.path().filename(), fs::copy_options::overwrite_existing, error);
    if (error)
      throw Error(ErrorKind::environment,
                  printable(fmt::format("cannot copy {}: {}", entry.path().string(), error.message())));
  }
}

void write_config_and_manifest(const fs::path& old_folder, const GptOssConfig& config,
                               const std::map<std::string, std::string>& file_hashes, const fs::path& out) {
  save_gpt_oss_config(config, out / "config.json");
  json root = read_folder_json(out / "config.json");
  const json old = read_folder_json(old_folder / "config.json");
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id", "initializer_range", "router_aux_loss_coef"})
    if (old.contains(key)) root[key] = old[key];
  write_json_file(out / "config.json", root);
  json manifest = {{"format_version", 1}};
  if (fs::exists(old_folder / "manifest.json")) manifest = read_folder_json(old_folder / "manifest.json");
  const auto single = file_hashes.find("model.safetensors");
  manifest["weights_hash"] = single == file_hashes.end() ? "" : single->second;
  if (single == file_hashes.end()) {
    manifest["file_hashes"] = file_hashes;
  } else {
    manifest.erase("file_hashes");
  }
  manifest["architecture_hash"] = sha256_hex(read_file(out / "config.json"));
  write_json_file(out / "manifest.json", manifest);
}

Conversion convert_checkpoint(const fs::path& folder, const fs::path& out, const ConversionOptions& options,
                              const std::stop_token& stop) {
  require_output_folder(out, folder, {folder});
  const CheckpointFiles files(folder);
  Conversion result;
  result.config = wanted_config(files, options);
  const std::vector<TensorHeader> table = tensor_table(result.config);
  std::vector<TensorSource> sources;
  for (const TensorHeader& spec : table) {
    sources.push_back(files.source(spec));
    result.bytes += spec.bytes();
  }
  result.tensors = static_cast<std::int64_t>(table.size());
  AtomicFolder staging(out);
  CheckpointWriter writer(staging.staging(), table, options.shard_bytes);
  Progress progress("converting " + folder.string(), result.bytes >> 20, "MB");
  Stream stream(writer, progress, options.threads, stop);
  for (std::size_t i = 0; i < table.size(); ++i) stream.copy(sources[i], table[i]);
  const std::map<std::string, std::string> hashes = writer.finish();
  for (const auto& [name, hash] : hashes) result.files.push_back(name);
  copy_other_files(folder, staging.staging());
  write_config_and_manifest(folder, result.config, hashes, staging.staging());
  staging.commit();
  progress.finish();
  return result;
}

}  // namespace kc
