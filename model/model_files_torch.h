#pragma once
// The files of a model folder one by one.
#include <filesystem>
#include <string>

#include "model/language_model.h"
#include "model/transformer_torch.h"
#include "weights/checkpoint_files.h"

namespace kc {

// Every tensor of tensor_table(config), read in parallel (weights/tensor_loading.h); `config` is files.config(), or it
// with another dtype or with experts expanded. Error{bad_data} names file and tensor. `expected_hash`, when not empty,
// is that of model.safetensors.
GptOssWeights load_weights(const CheckpointFiles& files, const GptOssConfig& config, const std::string& expected_hash);
GptOssWeights load_weights(const std::filesystem::path& folder, const GptOssConfig& config,
                           const std::string& expected_hash);
std::string save_weights(const std::filesystem::path& folder, const GptOssWeights& weights);  // returns the file's hash

Manifest load_manifest(const std::filesystem::path& folder);  // of a folder without one: empty
void save_manifest(const std::filesystem::path& folder, const Manifest& manifest);

}  // namespace kc
