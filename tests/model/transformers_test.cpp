// Folders written by this project, opened by Hugging Face transformers.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include <ATen/core/Tensor.h>

#include "model/language_model.h"
#include "model/safetensors_torch.h"
#include "tests/model/torch_support.h"
#include "tests/support/temp_folder.h"

namespace kc {
namespace {

std::string python() {
  const std::filesystem::path own = std::filesystem::path(KC_SOURCE_DIR) / ".venv/bin/python3";
  return std::filesystem::exists(own) ? own.string() : "python3";
}

bool runs(const std::string& command) {
  const int status = std::system((command + " >/dev/null 2>&1").c_str());
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool has_transformers() {
  static const bool found =
      runs(python() + " -c 'import torch, safetensors; from transformers import GptOssForCausalLM'");
  return found;
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

std::shared_ptr<const Tokenizer> some_tokenizer() {
  return train_tokenizer({"for (int i = 0; i < n; ++i) a[i] = b[i] + 1;\n", "block_size_x 128\nblock_size_y 16\n"},
                         {.size = 300, .reserved = {"<|answer|>"}});
}

struct Made {
  LanguageModel model;
  at::Tensor ids;
};

Made write_folder(const std::filesystem::path& folder, const GptOssConfig& config, std::int64_t length) {
  LanguageModel model(config, some_tokenizer(), RngStream(3));
  model.weights() = random_weights(model.config(), 5);
  model.save(folder, {});
  const at::Tensor ids = random_ids(2, length, model.config().vocab_size, 17);
  write_safetensors(folder / "inputs.safetensors", {{"ids", ids}});
  return {std::move(model), ids};
}

void compare(Made& made, const std::filesystem::path& folder, double logits_limit, double gradient_limit) {
  ASSERT_TRUE(runs(python() + " " KC_SOURCE_DIR "/tests/golden/make_gpt_oss.py reference " + folder.string()));
  const auto reference = read_safetensors(folder / "reference.safetensors");
  made.model.weights().require_grad(true);
  const at::Tensor logits = all_logits(made.model.config(), made.model.weights(), full_batch(made.ids));
  EXPECT_LE(relative_error(logits, reference.at("logits")), logits_limit);
  next_token_loss(logits, made.ids).backward();
  for (const auto& [name, gradient] : gradients(made.model.weights()))
    EXPECT_LE(relative_error(gradient, reference.at("grad." + name)), gradient_limit) << name;
}

struct Case {
  const char* name;
  GptOssConfig (*config)();
  std::int64_t length;
};

class Transformers : public testing::TestWithParam<Case> {};

TEST_P(Transformers, OpensOurFolderAndGivesTheSameLogitsAndGradients) {
  if (!has_transformers()) GTEST_SKIP() << "transformers is not importable by " << python();
  const test::TempFolder folder;
  Made made = write_folder(folder.path(), GetParam().config(), GetParam().length);
  compare(made, folder.path(), 1e-5, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Cases, Transformers,
                         testing::Values(Case{"shorter_than_window", small_config, 6},
                                         Case{"longer_than_window", small_config, 100},
                                         Case{"longer_than_context", beyond_context, 150}, Case{"wide", wide, 90},
                                         Case{"tied", tied, 40}),
                         [](const auto& param_info) { return param_info.param.name; });

TEST(Transformers, AgreesLooselyInBfloat16) {
  if (!has_transformers()) GTEST_SKIP() << "transformers is not importable by " << python();
  const test::TempFolder folder;
  GptOssConfig config = wide();
  config.dtype = "bfloat16";
  Made made = write_folder(folder.path(), config, 40);
  ASSERT_TRUE(runs(python() + " " KC_SOURCE_DIR "/tests/golden/make_gpt_oss.py reference " + folder.path().string()));
  const at::Tensor wanted = read_safetensors(folder.path() / "reference.safetensors").at("logits");
  GptOssWeights single;
  for (const auto& [name, tensor] : made.model.weights().tensors) single.tensors[name] = tensor.to(at::kFloat);
  const at::Tensor exact = all_logits(made.model.config(), single, full_batch(made.ids));
  const at::Tensor ours = all_logits(made.model.config(), made.model.weights(), full_batch(made.ids));
  // Both round, and a token near a tie of its router may choose another expert: neither is the truth.
  const double own_error = ours.sub(exact).abs().mean().item<double>();
  EXPECT_LE(own_error, 1.25 * wanted.sub(exact).abs().mean().item<double>());
  EXPECT_LE(own_error, 0.1 * exact.abs().mean().item<double>());
}

}  // namespace
}  // namespace kc
