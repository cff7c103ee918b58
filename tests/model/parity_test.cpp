// The arithmetic against values made by Hugging Face transformers: stored ones everywhere, fresh ones where it is
// installed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/json.h"
#include "model/language_model.h"
#include "model/layers_torch.h"
#include "model/model_files_torch.h"
#include "model/safetensors_torch.h"
#include "tests/model/torch_support.h"
#include "tests/support/temp_folder.h"

namespace kc {
namespace {

constexpr double kLogits = 1e-5;
constexpr double kGradients = 1e-4;

void expect_agreement(const std::filesystem::path& folder) {
  const GptOssConfig config = load_gpt_oss_config(folder / "config.json");
  GptOssWeights weights = load_weights(folder, config, "");
  const auto reference = read_safetensors(folder / "reference.safetensors");
  const at::Tensor ids = read_safetensors(folder / "inputs.safetensors").at("ids");
  weights.require_grad(true);
  const at::Tensor logits = all_logits(config, weights, full_batch(ids));
  EXPECT_LE(relative_error(logits, reference.at("logits")), kLogits);
  const at::Tensor loss = next_token_loss(logits, ids);
  EXPECT_LE(relative_error(loss.reshape({1}), reference.at("loss")), kLogits);
  loss.backward();
  std::size_t compared = 0;
  for (const auto& [name, gradient] : gradients(weights)) {
    EXPECT_LE(relative_error(gradient, reference.at("grad." + name)), kGradients) << name;
    ++compared;
  }
  EXPECT_EQ(compared, reference.size() - 2);
}

struct Kernels {
  explicit Kernels(bool fused) { use_fused_kernels(fused); }
  ~Kernels() { use_fused_kernels(true); }
};

class Golden : public testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(Golden, LogitsLossAndEveryGradientAgreeWithTransformers) {
  const Kernels kernels(std::get<1>(GetParam()));
  expect_agreement(std::filesystem::path(KC_SOURCE_DIR) / "tests/golden/gpt_oss" / std::get<0>(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Cases, Golden,
                         testing::Combine(testing::Values("window", "beyond_context", "tied_top1", "plain_rope"),
                                          testing::Bool()),
                         [](const auto& param_info) {
                           return std::get<0>(param_info.param) + (std::get<1>(param_info.param) ? "_fused" : "_plain");
                         });

}  // namespace
}  // namespace kc
