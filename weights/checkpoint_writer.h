#pragma once
// The weight files of a new Hugging Face folder, written as a stream so that memory stays small.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weights/safetensors.h"

namespace kc {

inline constexpr std::int64_t kDefaultShardBytes = 5'000'000'000;

// One model.safetensors, or model-0000I-of-0000N.safetensors with their index when the tensors need more than
// `shard_bytes` (a larger tensor has a shard of its own). Not atomic: `folder` is an AtomicFolder's staging folder.
class CheckpointWriter {
 public:
  CheckpointWriter(std::filesystem::path folder, std::vector<TensorHeader> tensors,
                   std::int64_t shard_bytes = kDefaultShardBytes);

  // The next bytes of the tensors, one after the other in the given order, in pieces of any size.
  void write(std::span<const std::byte> bytes);
  // File name to SHA-256. Error{internal} when bytes are missing.
  std::map<std::string, std::string> finish();

 private:
  struct Shard {
    std::string name;
    std::vector<TensorHeader> tensors;
    std::int64_t bytes = 0;
  };
  void plan(std::vector<TensorHeader> tensors, std::int64_t shard_bytes);
  void close_shard();
  void write_index() const;

  std::filesystem::path folder_;
  std::vector<Shard> shards_;
  std::size_t current_ = 0;
  std::int64_t left_ = 0;  // bytes of the current shard
  std::optional<SafetensorsWriter> writer_;
  std::map<std::string, std::string> hashes_;
};

}  // namespace kc
