#include "rollout/policy_forecaster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/rollout/support.h"

namespace kc {
namespace {

TEST(DirectReading, RenormalisesOverTheEightAnswersAndReportsTheMassOutside) {
  FakeSampler sampler;
  sampler.logprobs = [](const auto&) { return logs({.1, .2, .05, .05, .05, .025, .0125, .0125}); };
  const PromptEncoder encoder = byte_encoder();
  const auto forecaster = make_policy_forecaster(sampler, encoder, {}, RngStream(1));
  const std::vector<PromptRequest> requests{request_of("a", "b")};
  const ForecastResult result = forecaster->forecast(requests, {}).at(0);
  ASSERT_TRUE(result.parsed);
  EXPECT_NEAR(result.parsed->p[1], 0.4, 1e-6);
  EXPECT_EQ(result.parsed->predicted_bin, 2);
  EXPECT_NEAR(result.outside_mass, 0.5, 1e-6);
  EXPECT_NEAR(result.parsed->raw_sum, 0.5, 1e-6);
}

TEST(DirectReading, IsAFailureNotACrashWithoutAnyMass) {
  const std::vector<float> nothing(kBins, -INFINITY);
  const ParsedForecast parsed = direct_forecast(read_direct(nothing));
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().outcome, ParseOutcome::all_zero);
}

TEST(SampledReading, AsksAgainOnlyForWhatDidNotParse) {
  FakeSampler sampler;
  int calls = 0;
  sampler.answer = [&](const SampleRequest&, std::int64_t) {
    return ++calls == 1 ? sample_of("<|stop|>") : certain_answer(5);
  };
  const PromptEncoder encoder = byte_encoder();
  const auto forecaster = make_policy_forecaster(sampler, encoder, {WireFormat::compact, 1.0, 1}, RngStream(1));
  const std::vector<PromptRequest> requests{request_of("a", "b"), request_of("c", "d")};
  const std::vector<ForecastResult> results = forecaster->forecast(requests, {});
  EXPECT_EQ(sampler.requests.size(), 3U);
  EXPECT_EQ(sampler.requests[2].prompt, sampler.requests[0].prompt);
  EXPECT_TRUE(results[0].parsed);
  EXPECT_EQ(results[0].output_tokens, 11);
  EXPECT_EQ(results[1].output_tokens, 10);
}

TEST(SampledReading, KeepsTheFailureWhenRetriesRunOut) {
  FakeSampler sampler;
  sampler.answer = [](const SampleRequest&, std::int64_t) { return sample_of("<|stop|>"); };
  const PromptEncoder encoder = byte_encoder();
  const auto forecaster = make_policy_forecaster(sampler, encoder, {WireFormat::compact, 1.0, 2}, RngStream(1));
  const std::vector<PromptRequest> requests{request_of("a", "b")};
  const ForecastResult result = forecaster->forecast(requests, {}).at(0);
  ASSERT_FALSE(result.parsed);
  EXPECT_EQ(result.parsed.error().outcome, ParseOutcome::no_call);
  EXPECT_EQ(sampler.requests.size(), 3U);
}

TEST(SampledReading, DrawsAnewAtEveryCallRequestAndTry) {
  FakeSampler sampler;
  const PromptEncoder encoder = byte_encoder();
  const auto forecaster = make_policy_forecaster(sampler, encoder, {WireFormat::compact, 1.0, 1}, RngStream(1));
  const std::vector<PromptRequest> requests{request_of("a", "b"), request_of("a", "b")};
  forecaster->forecast(requests, {});
  forecaster->forecast(requests, {});
  ASSERT_EQ(sampler.requests.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      EXPECT_NE(sampler.requests[i].rng.state().key, sampler.requests[k].rng.state().key);
    }
  }
}

TEST(SampledReading, IsGreedyAtTemperatureZero) {
  FakeSampler sampler;
  const PromptEncoder encoder = byte_encoder();
  const std::vector<PromptRequest> requests{request_of("a", "b")};
  make_policy_forecaster(sampler, encoder, {WireFormat::compact, 0.0, 0}, RngStream(1))->forecast(requests, {});
  EXPECT_EQ(sampler.last_options.temperature, 0.0);
}

TEST(PolicyForecaster, RefusesAReadingThatTheModelDoesNotWrite) {
  FakeSampler sampler;
  const PromptEncoder encoder = byte_encoder();
  EXPECT_THROW(make_policy_forecaster(sampler, encoder, {WireFormat::tool, 1.0, 0}, RngStream(1)), Error);
}

}  // namespace
}  // namespace kc
