#include "weights/conversion.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
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

void require_apart(const fs::path& folder, const fs::path& out) {
  const fs::path from = fs::weakly_canonical(folder), to = fs::weakly_canonical(out);
  const auto [rest, inside] = std::mismatch(from.begin(), from.end(), to.begin(), to.end());
  const bool replaceable =
      !fs::exists(out) || (fs::is_directory(out) && (fs::is_empty(out) || fs::exists(out / "config.json")));
  if (!replaceable)
    throw Error(ErrorKind::usage,
                fmt::format("--out {} exists and is no model folder: give another place", out.string()));
  if (rest == from.end())
    throw Error(ErrorKind::usage,
                fmt::format("--out {} lies in the folder that is read: give another place", out.string()));
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

void copy_other_files(const fs::path& folder, const fs::path& out) {
  const std::set<std::string> rewritten = {"config.json", "dtypes.json", "manifest.json",
                                           "model.safetensors.index.json"};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path name = entry.path().filename();
    if (!entry.is_regular_file() || name.extension() == ".safetensors" || rewritten.contains(name.string())) continue;
    std::error_code error;
    fs::copy_file(entry.path(), out / name, fs::copy_options::overwrite_existing, error);
    if (error)
      throw Error(ErrorKind::environment, fmt::format("cannot copy {}: {}", entry.path().string(), error.message()));
  }
}

void write_config_and_manifest(const fs::path& old_folder, const GptOssConfig& config,
                               const std::map<std::string, std::string>& file_hashes, const fs::path& out) {
  save_gpt_oss_config(config, out / "config.json");
  json root = read_json_file(out / "config.json");
  const json old = read_json_file(old_folder / "config.json");
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id", "initializer_range", "router_aux_loss_coef"})
    if (old.contains(key)) root[key] = old[key];
  write_json_file(out / "config.json", root);
  json manifest = {{"format_version", 1}};
  if (fs::exists(old_folder / "manifest.json")) manifest = read_json_file(old_folder / "manifest.json");
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
  require_apart(folder, out);
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
