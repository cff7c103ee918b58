#pragma once
// An encoder on the byte vocabulary, and samples spelled as text.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "rollout/prompt_encoder.h"
#include "tests/support/fake_sampler.h"
#include "tests/support/fake_tokenizer.h"

namespace kc {

inline std::shared_ptr<const Tokenizer> byte_tokenizer() { return std::make_shared<FakeTokenizer>(reserved_pieces()); }

inline PromptEncoder byte_encoder(WireFormat wire = WireFormat::compact, std::int64_t max_tokens = 4096) {
  PromptFormat format;
  format.template_file = std::string(KC_SOURCE_DIR) + "/configs/prompts/default.txt";
  format.wire = wire;
  format.max_tokens = max_tokens;
  return PromptEncoder(format, byte_tokenizer());
}

inline Sample sample_of(const std::string& text, StopReason stop = StopReason::stop_token) {
  Sample sample;
  sample.tokens = byte_tokenizer()->encode(text, true);
  sample.logprobs.assign(sample.tokens.size(), -0.5F);
  sample.stop = stop;
  return sample;
}

// A whole compact answer that states `bin` with certainty.
inline Sample certain_answer(Bin bin) { return sample_of(compact_text(bin, probability_steps(one_hot(bin)))); }

inline std::vector<float> logs(const std::vector<double>& probabilities) {
  std::vector<float> result;
  for (const double p : probabilities) result.push_back(static_cast<float>(std::log(p)));
  return result;
}

inline PromptRequest request_of(const std::string& reference, const std::string& candidate) {
  PromptRequest request;
  request.task = "toy";
  request.reference = {"cpp", "a", reference, {}};
  request.candidate = {"cpp", "b", candidate, {}};
  request.hardware.device = "machine";
  return request;
}

}  // namespace kc
