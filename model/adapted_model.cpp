// What LanguageModel does with adapters.
#include <algorithm>
#include <fstream>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/printable.h"
#include "model/language_model_impl_torch.h"
#include "model/lora_files_torch.h"
#include "model/model_files_torch.h"

namespace kc {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kBlocks = 64;
constexpr std::uint64_t kBlockBytes = 1 << 16;
constexpr std::uint64_t kLongestHeader = 100'000'000;

std::string part(std::ifstream& in, std::uint64_t from, std::uint64_t bytes) {
  std::string text(bytes, '\0');
  in.seekg(static_cast<std::streamoff>(from));
  in.read(text.data(), static_cast<std::streamsize>(bytes));
  text.resize(static_cast<std::size_t>(in.gcount()));
  in.clear();
  return text;
}

std::string file_fingerprint(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::error_code error;
  const std::uint64_t size = fs::file_size(file, error);
  if (!in || error) throw Error(ErrorKind::bad_data, file.string() + ": cannot be opened");
  const std::string length = part(in, 0, 8);
  std::uint64_t header = 0;
  for (std::size_t i = length.size(); i-- > 0;) header = header << 8 | static_cast<unsigned char>(length[i]);
  std::string seen = fmt::format("{} {}\n", file.filename().string(), size);
  seen += part(in, 0, std::min({size, 8 + std::min(header, kLongestHeader)}));
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    const std::uint64_t last = size > kBlockBytes ? size - kBlockBytes : 0;
    seen += part(in, last / (kBlocks - 1) * i, std::min(size, kBlockBytes));
  }
  return sha256_hex(seen);
}

fs::path base_folder(const fs::path& folder, const Manifest& manifest) {
  const std::string named = manifest.base.empty() ? load_adapter_config(folder).base : manifest.base;
  for (const fs::path& candidate : {fs::path(named), folder / named})
    if (!named.empty() && fs::exists(candidate / "config.json")) return candidate;
  throw Error(
      ErrorKind::bad_data,
      fmt::format("{}: the adapter stands on \"{}\", which is no model folder here: put the base there, or name "
                  "its folder as base_model_name_or_path in adapter_config.json{}",
                  folder.string(), printable(named), manifest.base.empty() ? "" : " and as base in manifest.json"));
}

void check_hashes(const fs::path& folder, const Manifest& manifest, const std::string& base_hash,
                  const std::string& tokenizer_hash) {
  if (!manifest.base_hash.empty() && manifest.base_hash != base_hash)
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: the adapter was trained on a base of fingerprint {}, but {} has {}: another model is "
                            "there now",
                            folder.string(), manifest.base_hash.substr(0, 12), manifest.base, base_hash.substr(0, 12)));
  if (!manifest.tokenizer_hash.empty() && manifest.tokenizer_hash != tokenizer_hash)
    throw Error(
        ErrorKind::bad_data,
        fmt::format("{}: the base's vocabulary is not the one that the adapter was trained with", folder.string()));
  const fs::path file = folder / "adapter_model.safetensors";
  if (manifest.weights_hash.empty() || sha256_hex(read_file(file)) == manifest.weights_hash) return;
  throw Error(ErrorKind::bad_data,
              fmt::format("{}: its SHA-256 is not the one in manifest.json: damaged, or replaced by hand (then remove "
                          "weights_hash from the manifest)",
                          file.string()));
}

}  // namespace

std::string base_fingerprint(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string all = read_file(folder / "config.json");
  for (const fs::path& file : files) all += file_fingerprint(file);
  return sha256_hex(all);
}

bool LanguageModel::has_adapter() const { return !impl_->weights.adapter.empty(); }

void LanguageModel::add_adapter(const LoraOptions& options, const RngStream& rng) {
  if (has_adapter())
    throw Error(
        ErrorKind::config,
        "model.lora.rank is above 0, but run.init has an adapter already, which is trained on: leave the key out, "
        "or fold the adapter into its base first (checkpoint merge)");
  if (impl_->folder.empty())
    throw Error(ErrorKind::config, "model.lora.rank is above 0 without run.init: an adapter needs a stored base");
  impl_->manifest.base = impl_->folder.string();
  impl_->manifest.base_hash = base_fingerprint(impl_->folder);
  impl_->weights.adapter = init_adapter(impl_->config, options, rng);
}

LanguageModel LanguageModel::load_adapted(const fs::path& folder, const LoadOptions& options) {
  const Manifest manifest = load_manifest(folder);
  const fs::path base = base_folder(folder, manifest);
  LanguageModel model = load(base, options);
  Impl& impl = *model.impl_;
  const std::string hash = base_fingerprint(base);
  check_hashes(folder, manifest, hash, impl.tokenizer->hash());
  impl.weights.adapter = load_adapter(folder, impl.config, impl.weights);
  impl.manifest = manifest;
  impl.manifest.base = impl.folder.string();
  impl.manifest.base_hash = hash;
  return model;
}

void LanguageModel::restore_adapter(const fs::path& folder) {
  check_hashes(folder, load_manifest(folder), impl_->manifest.base_hash, impl_->tokenizer->hash());
  const LoraAdapter stored = load_adapter(folder, impl_->config, impl_->weights);
  const at::NoGradGuard no_grad;
  LoraAdapter& ours = impl_->weights.adapter;
  bool fits = stored.tensors.size() == ours.tensors.size() && stored.scale() == ours.scale();
  for (auto& [name, tensor] : ours.tensors) {
    const auto found = stored.tensors.find(name);
    fits = fits && found != stored.tensors.end() && found->second.sizes() == tensor.sizes();
    if (!fits) break;
    tensor.copy_(found->second);
  }
  if (!fits)
    throw Error(
        ErrorKind::bad_data,
        fmt::format("{}: its adapter has another rank, alpha or targets than this run's: the config has changed; "
                    "use another run.dir",
                    folder.string()));
}

}  // namespace kc
