#pragma once
// From a prompt request to token ids, and from sampled ids to a forecast.
#include <memory>
#include <vector>

#include "forecast/parser.h"
#include "forecast/prompt.h"
#include "model/sampler.h"

namespace kc {

struct PromptFormat {
  std::filesystem::path template_file;
  PromptStyle style = PromptStyle::diff;
  WireFormat wire = WireFormat::compact;
  std::int64_t max_tokens = 256;  // longer prompts are cut in the middle of the two kernel blocks and counted
};
PromptFormat read_prompt_format(Config& config);  // section `prompt`

// Thread-safe.
class PromptEncoder {
 public:
  PromptEncoder(PromptFormat format, std::shared_ptr<const Tokenizer> tokenizer);

  // Prompt ids; ends in the answer piece, after which come the bin token of `direct` and `compact`.
  std::vector<TokenId> encode(const PromptRequest& request) const;
  ParsedForecast parse(const Sample& sample) const;

  // ids of the eight bin tokens, of the probability steps, of stop.
  const std::vector<TokenId>& bin_tokens() const { return bin_tokens_; }
  const std::vector<TokenId>& probability_tokens() const { return probability_tokens_; }
  TokenId stop_token() const { return stop_token_; }
  SamplingOptions sampling(double temperature) const;
  const PromptFormat& format() const { return format_; }
  const std::string& template_hash() const { return template_.hash(); }

 private:
  PromptFormat format_;
  PromptTemplate template_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<TokenId> bin_tokens_;
  std::vector<TokenId> probability_tokens_;
  TokenId stop_token_ = 0;
};

}  // namespace kc
