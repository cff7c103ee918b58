#pragma once
// Sampling from a language model, without torch in sight.
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "base/error.h"
#include "base/rng.h"
#include "tokenizer/tokenizer.h"

namespace kc {

enum class StopReason {
  stop_token,  // the last token is one of the stop tokens
  max_tokens,  // ran into the limit
};

struct SampleRequest {
  std::vector<TokenId> prompt;                  // not empty
  std::int64_t count = 1;                       // samples of this prompt: the prompt is processed once
  RngStream rng = RngStream(std::uint64_t{0});  // sample i draws from rng.child(i): independent of batching and order
};

struct Sample {
  std::vector<TokenId> tokens;  // sampled tokens, the stop token included
  std::vector<float> logprobs;  // of each, under the distribution it was drawn from (temperature applied)
  StopReason stop = StopReason::max_tokens;
};

struct SamplingOptions {
  double temperature = 1.0;  // > 0; or 0 = greedy (logprobs are then those at temperature 1)
  std::int64_t max_new_tokens = 16;
  std::vector<TokenId> stop_tokens = {};
  std::int64_t batch_rows = 64;  // sequences decoded together
  // Told after each step of how many of the tokens at most (max_new_tokens of each sample) are settled now: drawn, or
  // left out because their sample has ended. For a progress display.
  std::function<void(std::int64_t tokens)> on_settled = {};
};

// A model whose weights are damaged or have diverged; who trains it knows which of the two.
class LogitsNotFinite : public Error {
 public:
  LogitsNotFinite();
};

class Sampler {
 public:
  virtual ~Sampler() = default;
  // samples[i] holds request i's `count` samples. Blocks; throws Error{interrupted} when stopped. Not thread-safe.
  virtual std::vector<std::vector<Sample>> sample(std::span<const SampleRequest> requests,
                                                  const SamplingOptions& options, std::stop_token stop) = 0;
  // Natural-log probabilities of `tokens` as the next token after each prompt, over the whole vocabulary (so they need
  // not sum to 1): result[i][j] belongs to prompt i, token j. Both throw LogitsNotFinite, an Error{bad_data}.
  virtual std::vector<std::vector<float>> next_token_logprobs(std::span<const std::vector<TokenId>> prompts,
                                                              std::span<const TokenId> tokens,
                                                              std::stop_token stop) = 0;
};

}  // namespace kc
