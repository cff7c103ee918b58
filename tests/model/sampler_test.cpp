#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/tensor.h>

#include "model/layers_torch.h"
#include "model/sampler_torch.h"
#include "tests/model/torch_support.h"
#include "tests/support/expect_error.h"

namespace kc {
namespace {

std::vector<TokenId> prompt(std::int64_t length, std::uint64_t seed) {
  std::vector<TokenId> tokens;
  RngStream rng(seed);
  for (std::int64_t i = 0; i < length; ++i) tokens.push_back(static_cast<TokenId>(rng.below(48)));
  return tokens;
}

std::vector<SampleRequest> some_requests() {
  std::vector<SampleRequest> requests;
  const std::int64_t lengths[] = {30, 1, 12, 7, 19};
  const std::int64_t counts[] = {3, 8, 1, 0, 5};
  for (std::uint64_t i = 0; i < 5; ++i) requests.push_back({prompt(lengths[i], i), counts[i], RngStream(100 + i)});
  return requests;
}

at::Tensor logits_of(const GptOssConfig& c, const GptOssWeights& w, const std::vector<TokenId>& tokens) {
  const std::vector<std::int64_t> ids(tokens.begin(), tokens.end());
  return all_logits(c, w, full_batch(at::tensor(ids, at::kLong).unsqueeze(0)))[0];
}

class SamplerOf : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  SamplerOf() { use_fused_kernels(std::get<1>(GetParam())); }
  ~SamplerOf() override { use_fused_kernels(true); }
  static GptOssConfig config() {
    GptOssConfig c = small_config();
    c.dtype = std::get<0>(GetParam());
    return c;
  }
};

TEST_P(SamplerOf, LogprobsEqualThoseOfAFullForwardPass) {
  const GptOssConfig c = config();
  GptOssWeights w = random_weights(c, 1);
  w.require_grad(true);
  const auto sampler = make_gpt_oss_sampler(c, w);
  const std::vector<SampleRequest> requests = some_requests();
  const double temperature = 0.7;
  const auto samples =
      sampler->sample(requests, {.temperature = temperature, .max_new_tokens = 20, .batch_rows = 4}, {});
  ASSERT_EQ(samples.size(), requests.size());
  const double limit = c.dtype == "bfloat16" ? 0.2 : 2e-5;
  for (std::size_t r = 0; r < requests.size(); ++r) {
    ASSERT_EQ(static_cast<std::int64_t>(samples[r].size()), requests[r].count);
    for (const Sample& sample : samples[r]) {
      ASSERT_EQ(sample.tokens.size(), 20U);
      std::vector<TokenId> all = requests[r].prompt;
      all.insert(all.end(), sample.tokens.begin(), sample.tokens.end());
      const at::NoGradGuard no_grad;
      const at::Tensor logprobs = at::log_softmax(logits_of(c, w, all).div(temperature), -1);
      for (std::size_t i = 0; i < sample.tokens.size(); ++i) {
        const auto at = static_cast<std::int64_t>(requests[r].prompt.size() + i) - 1;
        EXPECT_NEAR(sample.logprobs[i], logprobs[at][sample.tokens[i]].item<double>(), limit);
      }
    }
  }
}

TEST_P(SamplerOf, NextTokenLogprobsEqualThoseOfAFullForwardPass) {
  const GptOssConfig c = config();
  const GptOssWeights w = random_weights(c, 1);
  const auto sampler = make_gpt_oss_sampler(c, w);
  const std::vector<std::vector<TokenId>> prompts = {prompt(9, 1), prompt(30, 2), prompt(1, 3)};
  const std::vector<TokenId> tokens = {5, 0, 47};
  const auto result = sampler->next_token_logprobs(prompts, tokens, {});
  ASSERT_EQ(result.size(), 3U);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const at::Tensor wanted = at::log_softmax(logits_of(c, w, prompts[i])[-1], -1);
    for (std::size_t j = 0; j < tokens.size(); ++j)
      EXPECT_NEAR(result[i][j], wanted[tokens[j]].item<double>(), c.dtype == "bfloat16" ? 0.2 : 2e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, SamplerOf, testing::Combine(testing::Values("float32", "bfloat16"), testing::Bool()),
                         [](const auto& param_info) {
                           return std::string(std::get<0>(param_info.param)) +
                                  (std::get<1>(param_info.param) ? "_fused" : "_plain");
                         });

TEST(Sampler, DrawsTheSameWhateverTheBatch) {
  const GptOssConfig c = small_config();
  const GptOssWeights w = random_weights(c, 1);
  const auto sampler = make_gpt_oss_sampler(c, w);
  std::vector<SampleRequest> requests = some_requests();
  const auto all = sampler->sample(requests, {.max_new_tokens = 12, .stop_tokens = {3, 4}, .batch_rows = 64}, {});
  for (const std::int64_t rows : {1, 3, 16}) {
    const auto few = sampler->sample(requests, {.max_new_tokens = 12, .stop_tokens = {3, 4}, .batch_rows = rows}, {});
    for (std::size_t r = 0; r < requests.size(); ++r)
      for (std::size_t i = 0; i < all[r].size(); ++i) EXPECT_EQ(few[r][i].tokens, all[r][i].tokens);
  }
  const auto alone = sampler->sample(std::span(requests).subspan(4, 1),
                                     {.max_new_tokens = 12, .stop_tokens = {3, 4}, .batch_rows = 2}, {});
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(alone[0][i].tokens, all[4][i].tokens);
}

TEST(Sampler, EndsAtStopTokensAndAtTheLimit) {
  const GptOssConfig c = small_config();
  const GptOssWeights w = random_weights(c, 1);
  const auto sampler = make_gpt_oss_sampler(c, w);
  std::vector<TokenId> stops;
  for (TokenId t = 0; t < 12; ++t) stops.push_back(t);
  const std::vector<SampleRequest> requests = {{prompt(5, 1), 200, RngStream(1)}};
  int stopped = 0;
  const auto samples = sampler->sample(requests, {.max_new_tokens = 6, .stop_tokens = stops}, {});
  for (const Sample& s : samples[0]) {
    ASSERT_FALSE(s.tokens.empty());
    ASSERT_EQ(s.tokens.size(), s.logprobs.size());
    for (std::size_t i = 0; i + 1 < s.tokens.size(); ++i) EXPECT_GE(s.tokens[i], 12);
    EXPECT_EQ(s.stop == StopReason::stop_token, s.tokens.back() < 12);
    if (s.stop == StopReason::max_tokens) {
      EXPECT_EQ(s.tokens.size(), 6U);
    }
    stopped += s.stop == StopReason::stop_token ? 1 : 0;
  }
  EXPECT_GT(stopped, 0);
  EXPECT_LT(stopped, 200);
}

TEST(Sampler, TellsHowManyTokensAreSettled) {
  const GptOssConfig c = small_config();
  const GptOssWeights w = random_weights(c, 2);
  const std::vector<SampleRequest> requests = some_requests();
  std::vector<std::int64_t> told;
  SamplingOptions options{.max_new_tokens = 6, .stop_tokens = {3, 4, 5, 6, 7}, .batch_rows = 4};
  options.on_settled = [&](std::int64_t tokens) { told.push_back(tokens); };
  const auto samples = make_gpt_oss_sampler(c, w)->sample(requests, options, {});
  std::int64_t ended_early = 0;
  for (const auto& of_request : samples)
    for (const Sample& sample : of_request) ended_early += sample.tokens.size() < 6 ? 1 : 0;
  EXPECT_GT(ended_early, 0);
  EXPECT_EQ(std::accumulate(told.begin(), told.end(), std::int64_t{0}), 17 * 6) << "of 17 samples";
  EXPECT_GT(told.size(), 17U) << "while they are drawn";
}

TEST(Sampler, DrawsTokensAsOftenAsTheirProbabilitySays) {
  const GptOssConfig c = small_config();
  const GptOssWeights w = random_weights(c, 1);
  const auto sampler = make_gpt_oss_sampler(c, w);
  const std::vector<SampleRequest> requests = {{prompt(5, 1), 20000, RngStream(1)}};
  std::vector<double> seen(48);
  const auto samples = sampler->sample(requests, {.temperature = 2, .max_new_tokens = 1}, {});
  for (const Sample& s : samples[0]) seen[static_cast<std::size_t>(s.tokens[0])] += 1.0 / 20000;
  const at::Tensor p = at::log_softmax(logits_of(c, w, requests[0].prompt)[-1].div(2), -1).exp();
  for (std::int64_t t = 0; t < 48; ++t) {
    const double wanted = p[t].item<double>();
    EXPECT_NEAR(seen[static_cast<std::size_t>(t)], wanted, 5 * std::sqrt(wanted / 20000) + 1e-4) << t;
  }
}

TEST(Sampler, GreedyTakesTheLargestLogit) {
  const GptOssConfig c = small_config();
  const GptOssWeights w = random_weights(c, 1);
  const auto sampler = make_gpt_oss_sampler(c, w);
  const std::vector<SampleRequest> requests = {{prompt(5, 1), 2, RngStream(1)}};
  const auto samples = sampler->sample(requests, {.temperature = 0, .max_new_tokens = 4}, {});
  const at::Tensor logprobs = at::log_softmax(logits_of(c, w, requests[0].prompt)[-1], -1);
  EXPECT_EQ(samples[0][0].tokens, samples[0][1].tokens);
  EXPECT_EQ(samples[0][0].tokens[0], logprobs.argmax().item<std::int64_t>());
  EXPECT_NEAR(samples[0][0].logprobs[0], logprobs.max().item<double>(), 1e-5);
}

TEST(Sampler, SamplesFromTheWeightsAsTheyAreNow) {
  const GptOssConfig c = small_config();
  GptOssWeights w = random_weights(c, 1);
  const auto sampler = make_gpt_oss_sampler(c, w);
  const std::vector<SampleRequest> requests = {{prompt(5, 1), 1, RngStream(1)}};
  const auto before = sampler->sample(requests, {.max_new_tokens = 8}, {});
  const GptOssWeights other = random_weights(c, 2);
  for (auto& [name, tensor] : w.tensors) tensor.copy_(other.tensors.at(name));
  EXPECT_NE(sampler->sample(requests, {.max_new_tokens = 8}, {})[0][0].logprobs, before[0][0].logprobs);
}

TEST(Sampler, RefusesBadRequestsAndStopsWhenAsked) {
  const GptOssConfig c = small_config();
  const GptOssWeights w = random_weights(c, 1);
  const auto sampler = make_gpt_oss_sampler(c, w);
  const std::vector<SampleRequest> empty = {{{}, 1, RngStream(1)}};
  const std::vector<SampleRequest> outside = {{{48}, 1, RngStream(1)}};
  const std::vector<SampleRequest> fine = {{{4}, 1, RngStream(1)}};
  EXPECT_ERROR(sampler->sample(empty, {}, {}), ErrorKind::bad_data, testing::HasSubstr("empty"));
  EXPECT_ERROR(sampler->sample(outside, {}, {}), ErrorKind::bad_data, testing::HasSubstr("token 48"));
  EXPECT_ERROR(sampler->sample(fine, {.temperature = -1}, {}), ErrorKind::usage, testing::HasSubstr("temperature"));
  std::stop_source source;
  source.request_stop();
  EXPECT_ERROR(sampler->sample(fine, {}, source.get_token()), ErrorKind::interrupted, testing::_);
  EXPECT_TRUE(sampler->sample({}, {}, {}).empty());
}

TEST(Sampler, SaysThatDivergedWeightsCannotBeSampled) {
  const GptOssConfig c = small_config();
  GptOssWeights w = random_weights(c, 1);
  w.tensors.at("model.norm.weight").fill_(std::nan(""));
  const auto sampler = make_gpt_oss_sampler(c, w);
  const std::vector<SampleRequest> requests = {{{4}, 1, RngStream(1)}};
  EXPECT_ERROR(sampler->sample(requests, {}, {}), ErrorKind::bad_data, testing::HasSubstr("not finite"));
  const std::vector<std::vector<TokenId>> prompts = {{4, 5}};
  const std::vector<TokenId> tokens = {6, 7};
  EXPECT_ERROR(sampler->next_token_logprobs(prompts, tokens, {}), ErrorKind::bad_data,
               testing::HasSubstr("not finite"));
}

}  // namespace
}  // namespace kc
