#include "model/checkpoint_logits.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <mutex>
#include <numeric>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include "model/layers_torch.h"
#include "model/model_files_torch.h"
#include "model/safetensors_torch.h"
#include "tests/model/torch_support.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace kc {
namespace {

std::filesystem::path write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file) << text;
  return file;
}

GptOssWeights write_model(const std::filesystem::path& folder, const GptOssConfig& config) {
  const GptOssWeights weights = random_weights(config, 5);
  save_gpt_oss_config(config, folder / "config.json");
  save_weights(folder, weights);
  return weights;
}

TEST(CheckpointLogits, AreThoseOfAForwardPass) {
  const at::NoGradGuard no_grad;
  const test::TempFolder folder;
  const GptOssConfig config = small_config();
  const GptOssWeights weights = write_model(folder.path(), config);
  const auto tokens = write(folder.path() / "ids.json", "[3, 47, 0, 9, 9]");
  const auto out = folder.path() / "out.safetensors";
  EXPECT_EQ(write_logits({folder.path(), tokens, out}), 5);
  const auto file = read_safetensors(out);
  ASSERT_EQ(file.size(), 1U);
  const at::Tensor ids = at::tensor({3L, 47L, 0L, 9L, 9L}, at::kLong).unsqueeze(0);
  EXPECT_TRUE(file.at("logits").equal(all_logits(config, weights, full_batch(ids))[0]));
  write(tokens, R"({"text": "as well", "tokens": [3, 47, 0, 9, 9]})");
  write_logits({folder.path(), tokens, out});
  EXPECT_TRUE(read_safetensors(out).at("logits").equal(file.at("logits")));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    EXPECT_EQ(entry.path().string().find("partial"), std::string::npos);
}

// Shown in floating-point operations: attention tells of each block of queries, so that the display moves, and ends at
// its total, however long a layer takes.
TEST(CheckpointLogits, ShowTheirProgress) {
  const at::NoGradGuard no_grad;
  const test::TempFolder folder;
  const GptOssConfig config = small_config();
  const GptOssWeights weights = write_model(folder.path(), config);
  for (const bool fused : {true, false}) {
    use_fused_kernels(fused);
    std::mutex mutex;
    std::vector<double> told;
    forward_hidden(config, weights, full_batch(random_ids(1, 300, config.vocab_size, 2)), [&](double flops) {
      const std::scoped_lock lock(mutex);
      told.push_back(flops);
    });
    EXPECT_NEAR(std::accumulate(told.begin(), told.end(), 0.0), forward_flops(config, 300), 1);
    const std::int64_t layers = config.num_hidden_layers;
    const std::int64_t blocks = fused ? 5 * config.num_key_value_heads : 1;
    EXPECT_EQ(static_cast<std::int64_t>(told.size()), layers * (blocks + 1));
  }
  use_fused_kernels(true);
  const auto tokens = write(folder.path() / "ids.json", "[3, 47, 0]");
  testing::internal::CaptureStderr();
  write_logits({folder.path(), tokens, folder.path() / "out.safetensors"});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("logits of 3 tokens: 1/1 GFLOP (100 %)"));
}

TEST(CheckpointLogits, OfDamagedWeightsAreAnErrorAndNoFile) {
  const at::NoGradGuard no_grad;
  const test::TempFolder folder;
  const GptOssConfig config = small_config();
  const GptOssWeights weights = random_weights(config, 5);
  weights.tensors.at("model.norm.weight").fill_(std::numeric_limits<double>::quiet_NaN());
  save_gpt_oss_config(config, folder.path() / "config.json");
  save_weights(folder.path(), weights);
  const auto out = folder.path() / "out.safetensors";
  EXPECT_ERROR(write_logits({folder.path(), write(folder.path() / "ids.json", "[3, 47]"), out}), ErrorKind::bad_data,
               ::testing::HasSubstr("logits are not finite"));
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(CheckpointLogits, ReplaceNothingButLogits) {
  const test::TempFolder folder;
  write_model(folder.path(), small_config());
  const auto tokens = write(folder.path() / "ids.json", "[1]");
  for (const std::filesystem::path& out : {folder.path() / "model.safetensors", folder.path() / "ids.json",
                                           folder.path(), std::filesystem::path("/dev/null")})
    EXPECT_ERROR(write_logits({folder.path(), tokens, out}), ErrorKind::usage,
                 ::testing::HasSubstr("no file of logits"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(write_logits({folder.path(), tokens, folder.path() / "out.safetensors"}), 1);
}

TEST(CheckpointLogits, OfALargeVocabularyAreWrittenInParts) {
  const at::NoGradGuard no_grad;
  const test::TempFolder folder;
  GptOssConfig config = small_config();
  config.vocab_size = 201088;
  config.hidden_size = 8;
  const GptOssWeights weights = write_model(folder.path(), config);
  const at::Tensor ids = random_ids(1, 100, config.vocab_size, 4);  // more than one part
  std::string list;
  for (std::int64_t t = 0; t < 100; ++t) list += (t == 0 ? "" : ",") + std::to_string(ids[0][t].item<std::int64_t>());
  const auto out = folder.path() / "out.safetensors";
  write_logits({folder.path(), write(folder.path() / "ids.json", "[" + list + "]"), out});
  EXPECT_LE(relative_error(read_safetensors(out).at("logits"), all_logits(config, weights, full_batch(ids))[0]), 1e-6);
}

TEST(CheckpointLogits, RefuseBadTokensAndLeaveTheOldFile) {
  const test::TempFolder folder;
  write_model(folder.path(), small_config());
  const auto out = write(folder.path() / "out.safetensors", "old");
  const auto ids = folder.path() / "ids.json";
  const auto refuses = [&](const std::string& text, const std::string& message) {
    write(ids, text);
    EXPECT_ERROR(write_logits({folder.path(), ids, out}), ErrorKind::bad_data,
                 testing::AllOf(testing::HasSubstr("ids.json"), testing::HasSubstr(message)));
  };
  refuses("[1, 48]", "entry 1 of the token ids is 48");
  refuses("[-1]", "entry 0 of the token ids is -1");
  refuses("[18446744073709551615]", "entry 0");
  refuses("[1.5]", "1.5");
  refuses("[true]", "true");
  refuses("[\"1\"]", "whole number from 0 to 47");
  refuses("[]", "empty");
  refuses("{}", "expected a list");
  refuses("{\"tokens\": 3}", "expected a list");
  refuses("3", "expected a list");
  refuses("[1,", "ids.json");
  refuses("[{\"id\": 1}]", "entry 0 of the token ids is an object");
  refuses(std::string(200000, '[') + std::string(200000, ']'), "deep");
  std::string kept;
  std::ifstream(out) >> kept;
  EXPECT_EQ(kept, "old");
}

}  // namespace
}  // namespace kc
