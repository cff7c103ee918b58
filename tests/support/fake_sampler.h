#pragma once
// A sampler that says what a test tells it to, and remembers what it was asked.
#include <functional>
#include <vector>

#include "model/sampler.h"

namespace kc {

class FakeSampler final : public Sampler {
 public:
  // Sample `index` of a request; by default an empty truncated one.
  std::function<Sample(const SampleRequest& request, std::int64_t index)> answer;
  // Log-probabilities of the asked tokens after a prompt.
  std::function<std::vector<float>(const std::vector<TokenId>& prompt)> logprobs;

  std::vector<SampleRequest> requests;  // of all calls
  SamplingOptions last_options;

  std::vector<std::vector<Sample>> sample(std::span<const SampleRequest> asked, const SamplingOptions& options,
                                          std::stop_token) override {
    last_options = options;
    std::vector<std::vector<Sample>> result;
    for (const SampleRequest& request : asked) {
      requests.push_back(request);
      std::vector<Sample>& samples = result.emplace_back();
      for (std::int64_t i = 0; i < request.count; ++i) samples.push_back(answer ? answer(request, i) : Sample{});
    }
    return result;
  }

  std::vector<std::vector<float>> next_token_logprobs(std::span<const std::vector<TokenId>> prompts,
                                                      std::span<const TokenId>, std::stop_token) override {
    std::vector<std::vector<float>> result;
    for (const std::vector<TokenId>& prompt : prompts) result.push_back(logprobs(prompt));
    return result;
  }
};

}  // namespace kc
