#pragma once
// From a prompt request to token ids, and from sampled ids to a forecast.
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/config.h"
#include "forecast/parser.h"
#include "forecast/prompt.h"
#include "model/sampler.h"

namespace kc {

// Every piece that a local vocabulary must reserve, in a fixed order: pad, answer, stop, bins, probability steps.
std::vector<std::string> reserved_pieces();

struct PromptFormat {
  std::filesystem::path template_file;
  PromptStyle style = PromptStyle::diff;
  WireFormat wire = WireFormat::compact;
  std::int64_t max_tokens = 256;       // longer prompts are cut in the middle of the two kernel blocks and counted
  std::int64_t max_new_tokens = 1024;  // of a completion in the `tool` wire; `compact` needs exactly ten
};
PromptFormat read_prompt_format(Config& config);  // section `prompt`

// Tokens of a whole `compact` answer: bin, eight probabilities, stop.
inline constexpr std::int64_t kCompactTokens = 1 + kBins + 1;

// Thread-safe.
class PromptEncoder {
 public:
  // Error{bad_data} when the vocabulary lacks a reserved piece.
  PromptEncoder(PromptFormat format, std::shared_ptr<const Tokenizer> tokenizer);

  // Prompt ids; ends in the answer piece, after which come the bin token of `direct` and `compact`. At most
  // format().max_tokens ids: of an over-long text the middle of each half (the reference's block is the first, the
  // candidate's the second) is left out, and cut_prompts() grows.
  std::vector<TokenId> encode(const PromptRequest& request) const;
  ParsedForecast parse(const Sample& sample) const;

  // ids of the eight bin tokens, of the probability steps, of stop.
  const std::vector<TokenId>& bin_tokens() const { return bin_tokens_; }
  const std::vector<TokenId>& probability_tokens() const { return probability_tokens_; }
  TokenId stop_token() const { return stop_token_; }
  SamplingOptions sampling(double temperature) const;
  const PromptFormat& format() const { return format_; }
  const std::string& template_hash() const { return template_.hash(); }
  std::int64_t cut_prompts() const { return cut_->load(); }

 private:
  PromptFormat format_;
  PromptTemplate template_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<TokenId> bin_tokens_;
  std::vector<TokenId> probability_tokens_;
  TokenId answer_token_ = 0;
  TokenId stop_token_ = 0;
  std::shared_ptr<std::atomic<std::int64_t>> cut_ = std::make_shared<std::atomic<std::int64_t>>(0);
};

// Keeps `limit` of the ids by leaving out the middle of each half. Whole when they are not more than `limit`.
std::vector<TokenId> cut_in_the_middles(const std::vector<TokenId>& ids, std::int64_t limit);

}  // namespace kc
