#pragma once
// Every byte of a model folder's weights looked at once.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kc {

struct Verification {
  std::vector<std::string> problems;  // each names file and, where one is to blame, tensor
  std::int64_t tensors = 0, bytes = 0;
  std::int64_t hashes = 0;  // files whose recorded SHA-256 was compared
};

// Headers, names, shapes, dtypes, index with its total_size (checkpoint_files.h); NaN and infinities; MXFP4 values that
// are not finite in bfloat16; the SHA-256 that manifest.json records (weights_hash, file_hashes). Shows progress.
// Error{bad_data} only when config.json cannot be read.
Verification verify_checkpoint(const std::filesystem::path& folder, int threads = 0);

}  // namespace kc
