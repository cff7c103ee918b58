#include <gtest/gtest.h>

#include <ATen/ops/tensor.h>

#include "model/decoder_torch.h"
#include "tests/model/torch_support.h"
#include "tests/support/expect_error.h"

namespace kc {
namespace {

std::vector<TokenId> text(std::int64_t length, std::uint64_t seed) {
  std::vector<TokenId> tokens;
  RngStream rng(seed);
  for (std::int64_t i = 0; i < length; ++i) tokens.push_back(static_cast<TokenId>(rng.below(48)));
  return tokens;
}

at::Tensor logits_of(const GptOssConfig& c, const GptOssWeights& w, const std::vector<TokenId>& tokens) {
  const std::vector<std::int64_t> ids(tokens.begin(), tokens.end());
  return all_logits(c, w, full_batch(at::tensor(ids, at::kLong).unsqueeze(0)))[0];
}

class DecoderWith : public testing::TestWithParam<bool> {
 protected:
  DecoderWith() { use_fused_kernels(GetParam()); }
  ~DecoderWith() override { use_fused_kernels(true); }
};

// Prompts shorter than, as long as, and several times longer than the window of 8, each decoded far past it.
TEST_P(DecoderWith, CachedStepsGiveTheLogitsOfAFullForwardPass) {
  const GptOssConfig c = small_config();
  const GptOssWeights w = random_weights(c, 1);
  const std::int64_t lengths[] = {3, 8, 29, 7, 9, 16};
  std::vector<std::vector<TokenId>> texts;
  std::vector<at::Tensor> full;
  std::vector<std::span<const TokenId>> prompts;
  for (const std::int64_t n : lengths) texts.push_back(text(n + 21, static_cast<std::uint64_t>(n)));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    full.push_back(logits_of(c, w, texts[i]));
    prompts.push_back(std::span(texts[i]).first(static_cast<std::size_t>(lengths[i])));
  }
  Decoder decoder(c, w, 50);
  decoder.reserve(6, 50);
  const Prefix prefix = decoder.read_prompts(prompts);
  double worst = 0;
  for (std::int64_t i = 0; i < 6; ++i) {
    decoder.fill(5 - i, prefix, i);
    worst = std::max(worst, relative_error(prefix.logits[i], full[i][lengths[i] - 1]));
  }
  for (std::int64_t step = 0; step < 21; ++step) {
    Decoder::Step s;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      s.positions.push_back(lengths[i] + step);
      s.ids.push_back(texts[i][static_cast<std::size_t>(s.positions.back())]);
      s.slots.push_back(5 - static_cast<std::int64_t>(i));
    }
    const at::Tensor logits = decoder.decode(s);
    for (std::int64_t i = 0; i < 6; ++i) {
      const double error = relative_error(logits[i], full[i][lengths[i] + step]);
      EXPECT_LE(error, 1e-5) << "prompt of " << lengths[i] << ", step " << step;
      worst = std::max(worst, error);
    }
  }
  print_worst("cached decoding, logits", worst, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Kernels, DecoderWith, testing::Bool(),
                         [](const auto& param_info) { return param_info.param ? "fused" : "plain"; });

TEST(Decoder, KeepsOnlyTheWindowOfSlidingLayers) {
  GptOssConfig c = small_config();
  c.sliding_layers = {true, false, true};
  const GptOssWeights w = random_weights(c, 1);
  Decoder decoder(c, w, 1000);
  decoder.reserve(2, 1000);
  const std::int64_t row = 2 * c.num_key_value_heads * c.head_dim * 4;
  EXPECT_EQ(decoder.cached_bytes(), 2 * row * (1000 + 2 * c.sliding_window));
  const std::vector<TokenId> prompt = text(500, 1);
  const Prefix prefix = decoder.read_prompts({prompt, std::span(prompt).first(3)});
  EXPECT_EQ(prefix.cached[0].offsets, (std::vector<std::int64_t>{0, 8, 11}));
  EXPECT_EQ(prefix.cached[1].offsets, (std::vector<std::int64_t>{0, 500, 503}));
  EXPECT_EQ(prefix.cached[0].rows.storage().nbytes(), static_cast<std::size_t>(11 * row));
}

TEST(Decoder, RefusesAPositionWithoutRoom) {
  const GptOssConfig c = small_config();
  const GptOssWeights w = random_weights(c, 1);
  Decoder decoder(c, w, 20);
  decoder.reserve(1, 10);
  EXPECT_ERROR(decoder.decode({{1}, {10}, {0}}), ErrorKind::internal, testing::HasSubstr("position 10"));
}

}  // namespace
}  // namespace kc
