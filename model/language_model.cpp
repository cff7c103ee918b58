#include "model/language_model.h"

#include <ATen/core/Tensor.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "model/language_model_impl_torch.h"
#include "model/lora_files_torch.h"
#include "model/model_files_torch.h"
#include "model/sampler_torch.h"
#include "model/transformer_torch.h"

namespace kc {
namespace {

// As load_tokenizer() chooses in a folder.
bool is_sentencepiece(const std::filesystem::path& vocabulary) {
  return std::filesystem::is_directory(vocabulary) ? std::filesystem::is_regular_file(vocabulary / "tokenizer.model")
                                                   : vocabulary.extension() == ".model";
}

}  // namespace

LanguageModel::LanguageModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->sampler = make_gpt_oss_sampler(impl_->config, impl_->weights);
}

LanguageModel::LanguageModel(GptOssConfig config, std::shared_ptr<const Tokenizer> tokenizer, RngStream rng)
    : impl_(std::make_unique<Impl>()) {
  config.vocab_size = tokenizer->vocabulary_size();
  impl_->weights = init_weights(config, rng);
  impl_->config = std::move(config);
  impl_->tokenizer = std::move(tokenizer);
  impl_->sampler = make_gpt_oss_sampler(impl_->config, impl_->weights);
}

LanguageModel::LanguageModel(LanguageModel&&) noexcept = default;
LanguageModel& LanguageModel::operator=(LanguageModel&&) noexcept = default;
LanguageModel::~LanguageModel() = default;

LanguageModel LanguageModel::load(const std::filesystem::path& folder, const LoadOptions& options) {
  if (is_adapter_folder(folder) && !std::filesystem::exists(folder / "config.json"))
    return load_adapted(folder, options);
  auto impl = std::make_unique<Impl>();
  impl->folder = std::filesystem::absolute(folder).lexically_normal();
  impl->config = load_checkpoint_config(folder);
  const bool own_vocabulary = has_tokenizer(folder) || options.vocabulary.empty();
  const std::filesystem::path& vocabulary = own_vocabulary ? folder : options.vocabulary;
  impl->tokenizer = load_tokenizer(vocabulary);
  impl->manifest = load_manifest(folder);
  // A published model has spare rows beyond its byte pairs; one with a SentencePiece vocabulary is of ours and has
  // none.
  const std::int64_t pieces = impl->tokenizer->vocabulary_size();
  const bool spare_rows = !is_sentencepiece(vocabulary);
  if (spare_rows ? impl->config.vocab_size < pieces : impl->config.vocab_size != pieces)
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: the vocabulary has {} pieces, but config.json of {} says "
                            "vocab_size {}: it belongs to another model",
                            vocabulary.string(), pieces, folder.string(), impl->config.vocab_size));
  if (!impl->manifest.tokenizer_hash.empty() && impl->manifest.tokenizer_hash != impl->tokenizer->hash())
    throw Error(
        ErrorKind::bad_data,
        fmt::format("{}: the vocabulary has SHA-256 {}, but manifest.json of {} says {}: it belongs to another "
                    "model",
                    vocabulary.string(), impl->tokenizer->hash(), folder.string(), impl->manifest.tokenizer_hash));
  const std::string& architecture = impl->manifest.architecture_hash;
  if (!architecture.empty() && architecture != sha256_hex(read_file(folder / "config.json")))
    throw Error(
        ErrorKind::bad_data,
        fmt::format("{}: config.json is not the one that manifest.json names (SHA-256 {}): restore it, or remove "
                    "architecture_hash from the manifest to use the edited architecture",
                    folder.string(), architecture));
  const CheckpointFiles files(folder);
  impl->config = files.config();
  if (options.experts) impl->config.experts = *options.experts;
  impl->weights = load_weights(files, impl->config, impl->manifest.weights_hash);
  return LanguageModel(std::move(impl));
}

void LanguageModel::save(const std::filesystem::path& folder, Manifest manifest) const {
  if (has_adapter()) {
    const GptOssWeights& weights = impl_->weights;
    manifest.base = impl_->folder.string();
    manifest.base_hash = impl_->manifest.base_hash;
    manifest.tokenizer_hash = impl_->tokenizer->hash();
    manifest.weights_hash =
        save_adapter(folder, weights.adapter, impl_->config, manifest.base, natural_layout(weights.adapter));
    save_manifest(folder, manifest);
    return;
  }
  save_gpt_oss_config(impl_->config, folder / "config.json");
  manifest.architecture_hash = sha256_hex(read_file(folder / "config.json"));
  write_json_file(folder / "generation_config.json", nlohmann::json{{"do_sample", true}, {"temperature", 1.0}});
  impl_->tokenizer->save(folder);
  manifest.tokenizer_hash = impl_->tokenizer->hash();
  manifest.weights_hash = save_weights(folder, impl_->weights);
  save_manifest(folder, manifest);
}

const GptOssConfig& LanguageModel::config() const { return impl_->config; }
const Tokenizer& LanguageModel::tokenizer() const { return *impl_->tokenizer; }
std::shared_ptr<const Tokenizer> LanguageModel::shared_tokenizer() const { return impl_->tokenizer; }
GptOssWeights& LanguageModel::weights() { return impl_->weights; }
const GptOssWeights& LanguageModel::weights() const { return impl_->weights; }
Sampler& LanguageModel::sampler() { return *impl_->sampler; }
const Manifest& LanguageModel::manifest() const { return impl_->manifest; }

}  // namespace kc
