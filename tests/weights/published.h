#pragma once
// Folders with the published models' shapes.
#include <filesystem>

#include "weights/gpt_oss_config.h"

namespace kc::test {

GptOssConfig published_config(std::int64_t layers, std::int64_t experts);

// config.json as the release writes it (rope_scaling, rope_theta, no dtype), an index, and shards whose data is a hole
// of the full length: nothing but headers takes room on the disk.
void write_sparse_folder(const std::filesystem::path& folder, const GptOssConfig& config, std::int64_t shards);

}  // namespace kc::test
