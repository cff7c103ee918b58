#include "weights/checkpoint_writer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace kc {

CheckpointWriter::CheckpointWriter(std::filesystem::path folder, std::vector<TensorHeader> tensors,
                                   std::int64_t shard_bytes)
    : folder_(std::move(folder)) {
  plan(std::move(tensors), shard_bytes);
}

void CheckpointWriter::plan(std::vector<TensorHeader> tensors, std::int64_t shard_bytes) {
  shards_.emplace_back();
  for (TensorHeader& tensor : tensors) {
    if (shards_.back().bytes > 0 && shards_.back().bytes + tensor.bytes() > shard_bytes) shards_.emplace_back();
    shards_.back().bytes += tensor.bytes();
    shards_.back().tensors.push_back(std::move(tensor));
  }
  for (std::size_t i = 0; i < shards_.size(); ++i)
    shards_[i].name = shards_.size() == 1 ? "model.safetensors"
                                          : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards_.size());
}

void CheckpointWriter::close_shard() {
  hashes_[shards_[current_].name] = writer_->finish();
  writer_.reset();
  ++current_;
}

void CheckpointWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (current_ == shards_.size()) throw Error(ErrorKind::internal, "CheckpointWriter: more bytes than tensors");
    if (!writer_) {
      writer_.emplace(folder_ / shards_[current_].name, shards_[current_].tensors);
      left_ = shards_[current_].bytes;
    }
    const auto part = bytes.first(std::min(bytes.size(), static_cast<std::size_t>(left_)));
    writer_->write(part);
    bytes = bytes.subspan(part.size());
    left_ -= static_cast<std::int64_t>(part.size());
    if (left_ == 0) close_shard();
  }
}

void CheckpointWriter::write_index() const {
  nlohmann::json map = nlohmann::json::object();
  std::int64_t total = 0;
  for (const Shard& shard : shards_) {
    total += shard.bytes;
    for (const TensorHeader& tensor : shard.tensors) map[tensor.name] = shard.name;
  }
  write_json_file(folder_ / "model.safetensors.index.json",
                  {{"metadata", {{"total_size", total}}}, {"weight_map", map}});
}

std::map<std::string, std::string> CheckpointWriter::finish() {
  if (current_ != shards_.size())
    throw Error(ErrorKind::internal, "CheckpointWriter: tensors are missing in " + shards_[current_].name);
  if (shards_.size() > 1) write_index();
  return std::move(hashes_);
}

}  // namespace kc
