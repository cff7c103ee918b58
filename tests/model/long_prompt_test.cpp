// Prompts of 20,000 tokens: what they cost in memory, and that they are right.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>
#include <fstream>

#include <ATen/core/grad_mode.h>

#include "model/decoder_torch.h"
#include "model/layers_torch.h"
#include "model/sampler_torch.h"
#include "tests/model/torch_support.h"

namespace kc {
namespace {

constexpr std::int64_t kTokens = 20000;
constexpr double kMatrix = 4e-6 * kTokens * kTokens;  // MB of one fp32 matrix of scores: 1,600

// Peak of this process's memory in MB since it was made, above what it held then. Memory that was freed earlier goes
// back to the system first, or it would be used again unseen.
class PeakMemory {
 public:
  PeakMemory() {
    ::malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << 5;
    start_ = read("VmRSS:");
  }
  double grown() const { return read("VmHWM:") - start_; }

 private:
  static double read(const std::string& wanted) {
    std::ifstream status("/proc/self/status");
    for (std::string key; status >> key;)
      if (key == wanted) {
        double kilobytes = 0;
        status >> kilobytes;
        return kilobytes / 1024;
      }
    return 0;
  }
  double start_ = 0;
};

GptOssConfig smallest() {
  GptOssConfig c = small_config();
  c.num_hidden_layers = 2;
  c.num_attention_heads = c.num_key_value_heads = 1;
  c.sliding_window = 128;
  return c;
}

struct Kernels {
  explicit Kernels(bool fast) { use_fused_kernels(fast); }
  ~Kernels() { use_fused_kernels(true); }
};

class LongPrompt : public testing::TestWithParam<std::tuple<bool, bool>> {};  // fused, every layer slides

std::vector<TokenId> tokens_of(const at::Tensor& ids) {
  return {ids.const_data_ptr<std::int64_t>(), ids.const_data_ptr<std::int64_t>() + ids.numel()};
}

TEST_P(LongPrompt, NeedsFarLessThanAMatrixOfScoresAndDecodesLikeAFullPass) {
  const auto [fast, sliding] = GetParam();
  const Kernels kernels(fast);
  const at::NoGradGuard no_grad;
  GptOssConfig c = smallest();
  if (sliding) c.sliding_layers = {true, true};
  const GptOssWeights w = random_weights(c, 1);
  const at::Tensor ids = random_ids(1, kTokens, c.vocab_size, 2);
  const PeakMemory memory;
  const at::Tensor hidden = forward_hidden(c, w, full_batch(ids))[0];
  const double grown = memory.grown();
  // The plain operators take 1,024 queries of a full layer at a time, in a few copies.
  const double limit = sliding || fast ? kMatrix / 8 : kMatrix / 2;
  EXPECT_GT(grown, 0);
  EXPECT_LE(grown, limit);
  print_worst("20,000 tokens, MB", grown, limit);

  const std::vector<TokenId> all = tokens_of(ids);
  Decoder decoder(c, w, kTokens);
  decoder.reserve(1, kTokens);
  decoder.fill(0, decoder.read_prompts({std::span(all).first(kTokens - 3)}), 0);
  double worst = 0;
  for (std::int64_t t = kTokens - 3; t < kTokens; ++t) {
    const at::Tensor logits = decoder.decode({{all[static_cast<std::size_t>(t)]}, {t}, {0}});
    worst = std::max(worst, relative_error(logits[0], unembed(c, w, hidden.narrow(0, t, 1))[0]));
  }
  EXPECT_LE(worst, 1e-5);
  print_worst("20,000 tokens, cached decoding, logits", worst, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Kernels, LongPrompt, testing::Combine(testing::Bool(), testing::Bool()),
                         [](const auto& param_info) {
                           return std::string(std::get<0>(param_info.param) ? "fused" : "plain") +
                                  (std::get<1>(param_info.param) ? "_sliding" : "_alternating");
                         });

GptOssConfig published_vocabulary() {
  GptOssConfig c = smallest();
  c.hidden_size = 8;
  c.vocab_size = 201088;
  return c;
}

TEST(PublishedVocabulary, PromptsNeedTheLogitsOfTheirLastTokensOnly) {
  const GptOssConfig c = published_vocabulary();
  const GptOssWeights w = init_weights(c, RngStream(1));
  const auto sampler = make_gpt_oss_sampler(c, w);
  const std::vector<SampleRequest> requests = {{tokens_of(random_ids(1, 2000, c.vocab_size, 2)), 4, RngStream(1)}};
  const PeakMemory memory;
  sampler->sample(requests, {.max_new_tokens = 3}, {});
  print_worst("prompt of 2,000 tokens, 201,088 words, MB", memory.grown(), 100);
  EXPECT_LE(memory.grown(), 100) << "all rows would be 1,600 MB";
}

TEST(PublishedVocabulary, ManyShortPromptsAreReadAFewAtATime) {
  const GptOssConfig c = published_vocabulary();
  const GptOssWeights w = init_weights(c, RngStream(1));
  const auto sampler = make_gpt_oss_sampler(c, w);
  std::vector<std::vector<TokenId>> prompts;
  for (TokenId i = 0; i < 1000; ++i) prompts.push_back({i, 201087 - i});
  const PeakMemory memory;
  const auto result = sampler->next_token_logprobs(prompts, std::vector<TokenId>{7, 201087}, {});
  print_worst("1,000 prompts, 201,088 words, MB", memory.grown(), 300);
  EXPECT_LE(memory.grown(), 300) << "one pass would be 800 MB";
  ASSERT_EQ(result.size(), 1000U);
  const auto alone = sampler->next_token_logprobs(std::span(prompts).last(1), std::vector<TokenId>{7, 201087}, {});
  for (std::size_t j = 0; j < 2; ++j) EXPECT_NEAR(result.back()[j], alone[0][j], 2e-5);
}

// One row of attention by the definition, in double: head 0 of [N, 3 D] rotated rows.
std::vector<double> attended_row(const at::Tensor& rotated, double sink, std::int64_t row, std::int64_t window,
                                 std::int64_t d) {
  const auto x = rotated.accessor<float, 2>();
  const std::int64_t from = window > 0 ? std::max<std::int64_t>(0, row - window + 1) : 0;
  std::vector<double> scores;
  double most = sink;
  for (std::int64_t j = from; j <= row; ++j) {
    double s = 0;
    for (std::int64_t i = 0; i < d; ++i) s += static_cast<double>(x[row][i]) * static_cast<double>(x[j][d + i]);
    scores.push_back(s / std::sqrt(static_cast<double>(d)));
    most = std::max(most, scores.back());
  }
  double sum = std::exp(sink - most);
  for (double& s : scores) sum += s = std::exp(s - most);
  std::vector<double> out(static_cast<std::size_t>(d));
  for (std::int64_t j = from; j <= row; ++j)
    for (std::int64_t i = 0; i < d; ++i)
      out[static_cast<std::size_t>(i)] +=
          scores[static_cast<std::size_t>(j - from)] / sum * static_cast<double>(x[j][2 * d + i]);
  return out;
}

TEST(LongAttention, RowsEqualTheDefinitionInDouble) {
  const at::NoGradGuard no_grad;
  GptOssConfig c = smallest();
  const std::int64_t d = c.head_dim;
  const RopeTables rope = rope_tables(c, kTokens, at::kCPU);
  const PackedTokens tokens = pack_tokens(full_batch(random_ids(1, kTokens, 9, 1)));
  const at::Tensor qkv = normal_values({kTokens, 3 * d}, 5);
  const at::Tensor sinks = normal_values({1}, 6);
  double worst = 0;
  for (const bool fast : {true, false})
    for (const std::int64_t window : {std::int64_t{128}, std::int64_t{0}}) {
      const Kernels kernels(fast);
      const AttentionShape shape{1, 1, d, window};
      const at::Tensor rotated = rotate_rows(qkv, rope, tokens.positions_N, shape);
      const at::Tensor out = attention(qkv, sinks, rope, tokens, shape);
      const double scale = out.abs().max().item<double>();
      for (const std::int64_t row : {0L, 63L, 127L, 128L, 1023L, 1024L, 9999L, kTokens - 1}) {
        const auto wanted = attended_row(rotated, sinks[0].item<double>(), row, window, d);
        for (std::int64_t i = 0; i < d; ++i)
          worst = std::max(worst, std::abs(out[row][i].item<double>() - wanted[static_cast<std::size_t>(i)]) / scale);
      }
    }
  EXPECT_LE(worst, 2e-6);
  print_worst("20,000 tokens, rows of attention against double", worst, 2e-6);
}

}  // namespace
}  // namespace kc
