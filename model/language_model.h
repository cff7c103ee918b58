#pragma once
// A model folder in memory: configuration, weights, tokenizer; owner of the sampler that reads its current weights.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "model/lora.h"
#include "model/sampler.h"
#include "tokenizer/tokenizer.h"
#include "weights/gpt_oss_config.h"

namespace kc {

struct GptOssWeights;  // transformer_torch.h

// What a model folder says about its origin: manifest.json.
struct Manifest {
  int format_version = 1;
  std::string parent = {};  // hash of the folder it was trained from; empty for a fresh model
  std::int64_t step = 0;
  std::string stage = {};  // "warmup" | "policy" | ""
  std::string data_hash = {};
  std::string config_hash = {};
  std::string prompt_hash = {};
  std::string tokenizer_hash = {};
  std::string weights_hash = {};
  std::string architecture_hash = {};  // of config.json
  std::string base = {};               // of an adapter: the folder of the model that it stands on, and
  std::string base_hash = {};          // base_fingerprint of that folder
};

struct LoadOptions {
  std::filesystem::path vocabulary = {};      // file or folder (load_tokenizer) for a model folder that holds none
  std::optional<ExpertStorage> experts = {};  // how experts are kept in memory; nothing: as the folder stores them
};

class LanguageModel {
 public:
  // A fresh model of this configuration (vocab_size is taken from the tokenizer).
  LanguageModel(GptOssConfig config, std::shared_ptr<const Tokenizer> tokenizer, RngStream rng);
  // Opens a model folder, or an adapter folder (adapter_config.json) together with the base that it names.
  // Error{bad_data} names file and tensor: truncated file, wrong shape or dtype, missing or unexpected tensor, a
  // vocabulary of another size or hash than the manifest's. A vocabulary in the folder goes before options.vocabulary.
  static LanguageModel load(const std::filesystem::path& folder, const LoadOptions& options = {});

  // Puts a fresh adapter beside the weights, which are frozen from then on. Error{config} when the model has one
  // already or was not opened from a folder, which checkpoints could name.
  void add_adapter(const LoraOptions& options, const RngStream& rng);
  bool has_adapter() const;
  // Takes the numbers of an adapter folder of the same shape and base; the model keeps its identity. Error{bad_data}.
  void restore_adapter(const std::filesystem::path& folder);

  LanguageModel(LanguageModel&&) noexcept;
  LanguageModel& operator=(LanguageModel&&) noexcept;
  ~LanguageModel();

  // Writes config.json, generation_config.json, model.safetensors, tokenizer.model and manifest.json into `folder`,
  // which must exist (use AtomicFolder); fills manifest's weights_hash, architecture_hash and tokenizer_hash. With an
  // adapter only that is written (lora_files_torch.h), and the manifest names the base by path and hash.
  void save(const std::filesystem::path& folder, Manifest manifest) const;

  const GptOssConfig& config() const;
  const Tokenizer& tokenizer() const;
  std::shared_ptr<const Tokenizer> shared_tokenizer() const;
  GptOssWeights& weights();
  const GptOssWeights& weights() const;
  Sampler& sampler();  // always samples from the current weights
  const Manifest& manifest() const;

 private:
  struct Impl;
  static LanguageModel load_adapted(const std::filesystem::path& folder, const LoadOptions& options);
  explicit LanguageModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// SHA-256 over what tells one stored model from another without reading all of it: config.json, and of every
// *.safetensors name, size, header and 64 evenly spread blocks of 64 KiB.
std::string base_fingerprint(const std::filesystem::path& folder);

// Threads of ATen and OpenMP; 0 = as many as cores. The result of a run depends on it, so it is part of the config.
void set_compute_threads(int threads);
std::string libtorch_version();

}  // namespace kc
