// Adapters of the peft package read here, and ours read by it.
#include <gtest/gtest.h>

#include <filesystem>

#include "model/lora_files_torch.h"
#include "model/merge.h"
#include "model/model_files_torch.h"
#include "model/safetensors_torch.h"
#include "tests/model/torch_support.h"
#include "tests/support/python.h"
#include "tests/support/temp_folder.h"

namespace kc {
namespace {

namespace fs = std::filesystem;

bool runs(const std::string& arguments) { return test::runs_silently(test::python() + " " + arguments); }

bool has_peft() {
  static const bool found =
      test::python_can("import torch, safetensors, peft; from transformers import GptOssForCausalLM");
  return found;
}

const std::string kScript = KC_SOURCE_DIR "/tests/golden/make_lora.py ";

struct Base {
  GptOssConfig config;
  GptOssWeights weights;
  at::Tensor ids;
};

Base open_base(const fs::path& folder) {
  Base base;
  base.config = load_gpt_oss_config(folder / "base" / "config.json");
  base.weights = load_weights(folder / "base", base.config, "");
  base.ids = read_safetensors(folder / "reference.safetensors").at("ids");
  return base;
}

at::Tensor logits_of(const Base& base) { return all_logits(base.config, base.weights, full_batch(base.ids)); }

// What peft computes for the adapter in `folder`.
at::Tensor peft_logits(const fs::path& folder, const std::string& adapter) {
  const std::string file = (folder / "reference.safetensors").string();
  EXPECT_TRUE(runs(kScript + "logits " + (folder / "base").string() + " " + adapter + " " + file));
  return read_safetensors(file + ".logits").at("logits");
}

class Peft : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_peft()) GTEST_SKIP() << "peft and transformers are not importable";
    ASSERT_TRUE(runs(kScript + "make " + GetParam() + " " + folder_.path().string()));
  }
  test::TempFolder folder_;
};

TEST_P(Peft, ItsAdapterGivesTheSameLogitsHere) {
  Base base = open_base(folder_.path());
  const at::Tensor alone = logits_of(base);
  base.weights.adapter = load_adapter(folder_.path() / "adapter", base.config, base.weights);
  const at::Tensor wanted = read_safetensors(folder_.path() / "reference.safetensors").at("logits");
  const double error = relative_error(logits_of(base), wanted);
  RecordProperty("relative_error", std::to_string(error));
  EXPECT_LE(error, 1e-5);
  EXPECT_GT(relative_error(alone, wanted), 1e-2) << "the adapter must matter";
}

TEST_P(Peft, ReadsWhatWeWriteBack) {
  Base base = open_base(folder_.path());
  const LoraAdapter adapter = load_adapter(folder_.path() / "adapter", base.config, base.weights);
  const fs::path ours = folder_.path() / "ours";
  fs::create_directories(ours);
  save_adapter(ours, adapter, base.config, (folder_.path() / "base").string(), AdapterLayout::peft);
  const at::Tensor wanted = read_safetensors(folder_.path() / "reference.safetensors").at("logits");
  EXPECT_LE(relative_error(peft_logits(folder_.path(), ours.string()), wanted), 1e-5);
}

TEST_P(Peft, TransformersOpensTheMergedFolder) {
  const fs::path out = folder_.path() / "merged";
  merge_adapter(folder_.path() / "base", folder_.path() / "adapter", out, {});
  const std::string file = (folder_.path() / "reference.safetensors").string();
  ASSERT_TRUE(runs(kScript + "logits " + out.string() + " - " + file));
  const double error =
      relative_error(read_safetensors(file + ".logits").at("logits"), read_safetensors(file).at("logits"));
  RecordProperty("relative_error", std::to_string(error));
  EXPECT_LE(error, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Variants, Peft,
                         testing::Values("all", "rslora", "transposed", "down_only", "gate_up_only", "one_layer",
                                         "all_linear"),
                         [](const auto& param_info) { return param_info.param; });

class OurAdapter : public testing::TestWithParam<bool> {};

TEST_P(OurAdapter, GivesPeftTheSameLogits) {
  if (!has_peft()) GTEST_SKIP() << "peft and transformers are not importable";
  const test::TempFolder folder;
  ASSERT_TRUE(runs(kScript + "make down_only " + folder.path().string()));
  Base base = open_base(folder.path());
  LoraOptions options;
  options.rank = 4;
  options.alpha = 6;
  options.shared_experts = GetParam();
  base.weights.adapter = init_adapter(base.config, options, RngStream(3));
  for (auto& [name, tensor] : base.weights.adapter.tensors) {
    RngStream rng = RngStream(11).child(name);
    for (std::int64_t i = 0; i < tensor.numel(); ++i)
      tensor.mutable_data_ptr<float>()[i] = static_cast<float>(rng.normal() * 0.3);
  }
  const fs::path ours = folder.path() / "ours";
  fs::create_directories(ours);
  save_adapter(ours, base.weights.adapter, base.config, (folder.path() / "base").string(), AdapterLayout::peft);
  EXPECT_LE(relative_error(logits_of(base), peft_logits(folder.path(), ours.string())), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Layouts, OurAdapter, testing::Bool(),
                         [](const auto& param_info) { return param_info.param ? "shared" : "per_expert"; });

}  // namespace
}  // namespace kc
