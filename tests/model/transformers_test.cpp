// The arithmetic against fresh values of Hugging Face transformers, where it is installed: on folders that it writes (a
// grid of configurations) and on folders that this project writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include "model/language_model.h"
#include "model/layers_torch.h"
#include "model/safetensors_torch.h"
#include "tests/model/reference.h"
#include "tests/model/torch_support.h"
#include "tests/support/python.h"
#include "tests/support/temp_folder.h"

namespace kc {
namespace {

bool has_transformers() {
  static const bool found = test::python_can("import torch, safetensors; from transformers import GptOssForCausalLM");
  return found;
}

bool make(const std::string& action, const std::vector<std::filesystem::path>& folders) {
  std::string command = test::python() + " " KC_SOURCE_DIR "/tests/golden/make_gpt_oss.py " + action;
  for (const std::filesystem::path& folder : folders) command += " " + folder.string();
  return test::runs_silently(command);
}

GptOssConfig beyond_context() {
  GptOssConfig c = small_config();
  c.original_max_position_embeddings = 20;
  c.rope_factor = 8;
  return c;
}

GptOssConfig wide() {
  GptOssConfig c = small_config();
  c.hidden_size = 64;
  c.head_dim = 32;
  c.num_local_experts = 8;
  c.num_experts_per_tok = 4;
  c.sliding_window = 16;
  c.sliding_layers = {false, true, true};
  return c;
}

GptOssConfig tied() {
  GptOssConfig c = small_config();
  c.tie_word_embeddings = true;
  c.rope_factor = 1;
  c.rope_theta = 10000;
  c.num_key_value_heads = 4;
  return c;
}

GptOssConfig one_head() {
  GptOssConfig c = small_config();
  c.num_hidden_layers = 2;
  c.num_attention_heads = c.num_key_value_heads = 1;
  c.sliding_window = 128;
  return c;
}

std::shared_ptr<const Tokenizer> some_tokenizer() {
  return train_tokenizer({"for (int i = 0; i < n; ++i) a[i] = b[i] + 1;\n", "block_size_x 128\nblock_size_y 16\n"},
                         {.size = 300, .reserved = {"<|answer|>"}});
}

LanguageModel write_folder(const std::filesystem::path& folder, const GptOssConfig& config) {
  std::filesystem::create_directories(folder);
  LanguageModel model(config, some_tokenizer(), RngStream(3));
  model.weights() = random_weights(model.config(), 5);
  model.save(folder, {});
  return model;
}

void write_ids(const std::filesystem::path& folder, const LanguageModel& model, std::int64_t batch,
               std::int64_t length) {
  write_safetensors(folder / "inputs.safetensors", {{"ids", random_ids(batch, length, model.config().vocab_size, 17)}});
}

void expect_all(const std::vector<std::filesystem::path>& folders, const std::string& what) {
  Agreement worst;
  for (const std::filesystem::path& folder : folders)
    for (const bool fast : {true, false}) {
      SCOPED_TRACE(folder.filename().string() + (fast ? ", fused" : ", plain operators"));
      use_fused_kernels(fast);
      worst.add(expect_agreement(folder));
      use_fused_kernels(true);
    }
  print_worst(what + ", logits", worst.logits, 1e-5);
  print_worst(what + ", gradients", worst.gradients, 1e-4);
  std::cout << what << ": " << folders.size() << " configurations; left out " << worst.left_out << " of "
            << worst.positions << " positions whose router was nearly undecided\n";
  EXPECT_LE(worst.left_out, worst.positions / 50);
}

#define NEEDS_TRANSFORMERS() \
  if (!has_transformers()) GTEST_SKIP() << "transformers is not importable by " << test::python()

TEST(Transformers, GridOfConfigurationsGivesTheSameLogitsGradientsAndGreedyTokens) {
  NEEDS_TRANSFORMERS();
  const test::TempFolder folder;
  ASSERT_TRUE(make("grid", {folder.path()}));
  std::vector<std::filesystem::path> cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) cases.push_back(entry.path());
  std::sort(cases.begin(), cases.end());
  EXPECT_GE(cases.size(), 25U);
  expect_all(cases, "grid");
}

TEST(Transformers, OpensOurFoldersAndGivesTheSameLogitsGradientsAndGreedyTokens) {
  NEEDS_TRANSFORMERS();
  const test::TempFolder folder;
  struct {
    const char* name;
    GptOssConfig config;
    std::int64_t length;
  } const cases[] = {{"shorter_than_window", small_config(), 6},
                     {"longer_than_window", small_config(), 100},
                     {"longer_than_context", beyond_context(), 150},
                     {"wide", wide(), 90},
                     {"tied", tied(), 40}};
  std::vector<std::filesystem::path> folders;
  for (const auto& c : cases) {
    folders.push_back(folder.path() / c.name);
    write_ids(folders.back(), write_folder(folders.back(), c.config), 2, c.length);
  }
  ASSERT_TRUE(make("reference", folders));
  expect_all(folders, "our folders");
}

// 4,400 tokens, past the original context of 4,096; logits only.
TEST(Transformers, PositionsBeyondThePublishedContextGiveTheSameLogits) {
  NEEDS_TRANSFORMERS();
  const test::TempFolder folder;
  const std::filesystem::path path = folder.path() / "long";
  write_ids(path, write_folder(path, one_head()), 1, 4400);
  ASSERT_TRUE(make("reference", {path}));
  const Agreement a = expect_agreement(path);
  print_worst("4,400 tokens, logits", a.logits, 1e-5);
  std::cout << "left out " << a.left_out << " of " << a.positions << " positions\n";
}

// transformers would need a 20,000 x 20,000 mask, so each row is recomputed from the tokens that it can see.
TEST(Transformers, SlidingModelOverTwentyThousandTokensGivesTheSameLogits) {
  NEEDS_TRANSFORMERS();
  const test::TempFolder folder;
  const std::filesystem::path path = folder.path() / "sliding";
  GptOssConfig config = one_head();
  config.sliding_layers = {true, true};
  const LanguageModel model = write_folder(path, config);
  const at::Tensor ids = random_ids(1, 20000, model.config().vocab_size, 17);
  const at::Tensor rows = at::tensor({0L, 127L, 128L, 4095L, 4096L, 11111L, 19999L}, at::kLong);
  write_safetensors(path / "inputs.safetensors", {{"ids", ids}, {"rows", rows}});
  ASSERT_TRUE(make("windowed", {path}));
  const at::NoGradGuard no_grad;
  const at::Tensor hidden = forward_hidden(model.config(), model.weights(), full_batch(ids))[0].index_select(0, rows);
  const double error = relative_error(unembed(model.config(), model.weights(), hidden),
                                      read_safetensors(path / "reference.safetensors").at("logits"));
  EXPECT_LE(error, 1e-5);
  print_worst("20,000 tokens, sliding, logits of chosen rows", error, 1e-5);
}

TEST(Transformers, Bfloat16ErrorIsItsOwnWhenTheRoutingIsTheSame) {
  NEEDS_TRANSFORMERS();
  const test::TempFolder folder;
  std::vector<std::filesystem::path> folders;
  for (const GptOssConfig& base : {small_config(), beyond_context(), wide(), tied(), one_head()}) {
    GptOssConfig config = base;
    config.dtype = "bfloat16";
    folders.push_back(folder.path() / std::to_string(folders.size()));
    write_ids(folders.back(), write_folder(folders.back(), config), 3, 100);
  }
  ASSERT_TRUE(make("bfloat16", folders));
  HalfAgreement worst;
  for (const std::filesystem::path& path : folders)
    for (const bool fast : {true, false}) {
      SCOPED_TRACE(path.filename().string() + (fast ? ", fused" : ", plain operators"));
      use_fused_kernels(fast);
      const HalfAgreement a = expect_half_agreement(path);
      use_fused_kernels(true);
      worst.ratio = std::max(worst.ratio, a.ratio);
      std::cout << path.filename().string() << (fast ? " fused" : " plain") << ": error over transformers' " << a.ratio
                << "; routings flipped when free: " << a.flipped_ours << ", by transformers " << a.flipped_reference
                << '\n';
    }
  print_worst("bfloat16, RMS error over transformers'", worst.ratio, 1.2);
}

}  // namespace
}  // namespace kc
