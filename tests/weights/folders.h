#pragma once
// Small random model folders of every layout, written by the tests themselves.
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "weights/gpt_oss_config.h"
#include "weights/safetensors.h"

namespace kc::test {

using TensorBytes = std::map<std::string, std::vector<std::byte>>;

GptOssConfig tiny_config(ExpertStorage experts, const std::string& dtype = "bfloat16");

// Random finite values for every tensor of tensor_table(config).
TensorBytes random_tensors(const GptOssConfig& config, std::uint64_t seed);

// config.json and the weights; several shards with an index when `shard_bytes` is small.
void write_folder(const std::filesystem::path& folder, const GptOssConfig& config, const TensorBytes& tensors,
                  std::int64_t shard_bytes = 1'000'000'000);

// The same model (experts as MXFP4) in the original layout: config.json, dtypes.json, model.safetensors.
void write_original(const std::filesystem::path& folder, const GptOssConfig& config, const TensorBytes& tensors);

// A safetensors file with these tensors, in this order.
void write_file(const std::filesystem::path& file, const std::vector<TensorHeader>& specs, const TensorBytes& tensors);

// Overwrites bytes of a stored tensor in place.
void patch(const std::filesystem::path& file, const std::string& tensor, std::size_t offset,
           const std::vector<std::uint8_t>& bytes);

}  // namespace kc::test
