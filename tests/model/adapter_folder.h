#pragma once
// An adapter's folder beside a small random base, and ways to spoil it.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/ops/zeros.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "model/lora_files_torch.h"
#include "model/safetensors_torch.h"
#include "tests/model/torch_support.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace kc {

using nlohmann::json;
using Tensors = std::map<std::string, at::Tensor>;

inline at::Tensor noise(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  at::Tensor t = at::zeros(shape, at::kFloat);
  RngStream rng(seed);
  for (std::int64_t i = 0; i < t.numel(); ++i) t.mutable_data_ptr<float>()[i] = static_cast<float>(rng.normal() * 0.3);
  return t;
}

inline LoraAdapter noisy_adapter(const GptOssConfig& config, bool shared, std::vector<std::string> targets) {
  LoraOptions o;
  o.rank = 3;
  o.alpha = 5;
  o.shared_experts = shared;
  o.targets = std::move(targets);
  LoraAdapter adapter = init_adapter(config, o, RngStream(1));
  std::uint64_t seed = 0;
  for (auto& [name, tensor] : adapter.tensors) tensor = noise(tensor.sizes().vec(), ++seed);
  return adapter;
}

class AdapterFolder : public testing::Test {
 protected:
  AdapterFolder() : config_(small_config()), base_(random_weights(config_, 4)) {}

  LoraAdapter load() const { return load_adapter(folder_.path(), config_, base_); }
  void save(const LoraAdapter& adapter, AdapterLayout layout = AdapterLayout::peft) const {
    save_adapter(folder_.path(), adapter, config_, "base", layout);
  }
  void edit_config(const std::function<void(json&)>& edit) const {
    json root = read_json_file(folder_.path() / "adapter_config.json");
    edit(root);
    write_json_file(folder_.path() / "adapter_config.json", root);
  }
  void edit_tensors(const std::function<void(Tensors&)>& edit) const {
    Tensors tensors = read_safetensors(file());
    edit(tensors);
    write_safetensors(file(), tensors);
  }
  std::filesystem::path file() const { return folder_.path() / "adapter_model.safetensors"; }
  // In double precision, so that only the function matters.
  at::Tensor logits(const LoraAdapter& adapter) {
    GptOssWeights weights = base_;
    weights.adapter = adapter;
    for (auto* tensors : {&weights.tensors, &weights.adapter.tensors})
      for (auto& [name, tensor] : *tensors) tensor = tensor.to(at::kDouble);
    return all_logits(config_, weights, full_batch(random_ids(2, 30, config_.vocab_size, 9)));
  }
  LoraAdapter everything(bool shared = false) const {
    return noisy_adapter(config_, shared, {"attention", "experts", "unembedding"});
  }
  void expect_refused(const std::vector<std::string>& parts) const {
    for (const std::string& part : parts) EXPECT_ERROR((void)load(), ErrorKind::bad_data, testing::HasSubstr(part));
  }

  test::TempFolder folder_;
  GptOssConfig config_;
  GptOssWeights base_;
};

inline void expect_equal(const LoraAdapter& a, const LoraAdapter& b) {
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.alpha, b.alpha);
  EXPECT_EQ(a.tensors.size(), b.tensors.size());
  for (const auto& [name, tensor] : a.tensors) EXPECT_TRUE(tensor.equal(b.tensors.at(name))) << name;
}

}  // namespace kc
