#pragma once
// A model folder rewritten as a Hugging Face folder of another dtype or layout.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "weights/checkpoint_files.h"
#include "weights/checkpoint_writer.h"

namespace kc {

struct ConversionOptions {
  std::string dtype = {};                     // float32 | bfloat16; empty: as stored
  std::optional<ExpertStorage> experts = {};  // nothing: as stored
  std::int64_t shard_bytes = kDefaultShardBytes;
  int threads = 0;  // 0: as many as cores
};

struct Conversion {
  GptOssConfig config;  // of the result
  std::int64_t tensors = 0, bytes = 0;
  std::vector<std::string> files;  // with weights
};

// Reads any folder that CheckpointFiles opens and writes the result to `out`, whole or not at all: config.json,
// weights, manifest.json with their SHA-256, and copies of the other files (tokenizer, templates). Holds a few experts
// in memory at a time. Shows progress. Error{usage} when `out` cannot take it (require_output_folder);
// Error{interrupted} on `stop`.
Conversion convert_checkpoint(const std::filesystem::path& folder, const std::filesystem::path& out,
                              const ConversionOptions& options, const std::stop_token& stop = {});

// Of --out, in every such command.
inline constexpr const char* kOutputHelp =
    "folder of the result; a model folder there is replaced when no other file would be lost. No symbolic link, "
    "current "
    "folder or mount point: these cannot be replaced";

// What convert and others that write a folder beside an old one share. Where the result may go: to a new name in a
// folder that is there, into an empty folder, or over a model folder of which nothing is lost: it holds config.json
// with a model_type (or the original layout's), and may hold manifest.json, weights and their index, and files of the
// names that the result brings from `copied_from`. Anything else there, a place that is one of the folders read or
// inside it, and one that a rename cannot replace by a folder (symbolic link, current folder, mount point) is
// Error{usage}.
void require_output_folder(const std::filesystem::path& out, const std::filesystem::path& copied_from,
                           const std::vector<std::filesystem::path>& read);
// Every regular file of `folder` but weights, index, config.json, dtypes.json and manifest.json.
void copy_other_files(const std::filesystem::path& folder, const std::filesystem::path& out);
// config.json of the result with the harmless keys of the old one (end-of-text ids), and manifest.json of the old one,
// if any, with the new hashes.
void write_config_and_manifest(const std::filesystem::path& old_folder, const GptOssConfig& config,
                               const std::map<std::string, std::string>& file_hashes, const std::filesystem::path& out);

}  // namespace kc
