#pragma once
// The inside of LanguageModel, for its two source files only.
#include <filesystem>
#include <memory>

#include "model/language_model.h"
#include "model/transformer_torch.h"

namespace kc {

struct LanguageModel::Impl {
  GptOssConfig config;
  GptOssWeights weights;
  std::shared_ptr<const Tokenizer> tokenizer;
  Manifest manifest;
  std::unique_ptr<Sampler> sampler;
  std::filesystem::path folder;  // what it was opened from; of an adapted model the base's
};

}  // namespace kc
