#pragma once
// From a prompt request to token ids, and from sampled ids to a forecast.
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/config.h"
#include "forecast/parser.h"
#include "forecast/prompt.h"
#include "model/sampler.h"
#include "rollout/tool_wire.h"

namespace kc {

// Every piece that a local vocabulary must reserve, in a fixed order: pad, answer, stop, bins, probability steps.
std::vector<std::string> reserved_pieces();

struct PromptFormat {
  std::filesystem::path template_file = {};
  // What is not given follows from the vocabulary: `tool` with whole sources where it has Harmony's special tokens,
  // else `compact` with differing lines.
  std::optional<PromptStyle> style = std::nullopt;
  std::optional<WireFormat> wire = std::nullopt;
  std::int64_t max_tokens = 0;         // longer prompts are cut in the middle of the two kernel blocks and counted;
                                       // 0: 32,768 of Harmony's prompts, 256 of others
  std::int64_t max_new_tokens = 8192;  // of a completion in the `tool` wire; `compact` needs exactly ten
  ToolWireOptions tool = {};
};
PromptFormat read_prompt_format(Config& config);  // section `prompt`

// Every open choice made; `harmony`: the vocabulary has Harmony's special tokens.
PromptFormat resolved(PromptFormat format, bool harmony);

// Tokens of a whole `compact` answer: bin, eight probabilities, stop.
inline constexpr std::int64_t kCompactTokens = 1 + kBins + 1;

// The forecast that a label alone teaches in the `tool` wire: most of the mass on the bin, the rest on its neighbours.
Probabilities label_probabilities(Bin truth);

// Thread-safe.
class PromptEncoder {
 public:
  // Error{bad_data} when the vocabulary lacks a reserved piece; Error{config} when the wire needs another vocabulary.
  PromptEncoder(PromptFormat format, std::shared_ptr<const Tokenizer> tokenizer);

  // Prompt ids, at most format().max_tokens of them; of an over-long text the middle of each half (the reference's
  // block is the first, the candidate's the second) is left out, and cut_prompts() grows. `compact` and `direct` of a
  // local vocabulary end in the answer piece; with Harmony every prompt is a conversation that ends in
  // `<|start|>assistant`.
  std::vector<TokenId> encode(const PromptRequest& request) const;
  // The prompt whose next token is the bin's, for the direct reading: the prompt itself, with Harmony followed by a
  // fixed beginning of the answer.
  std::vector<TokenId> direct_prompt(std::vector<TokenId> prompt) const;
  ParsedForecast parse(const Sample& sample) const;

  // What a completion should be that states this forecast, stop token included; tokens[bin_at] is the bin's. In the
  // `tool` wire what stands before it is direct_prompt's beginning, so both readings learn from it.
  AnswerTokens answer(Bin bin, const Probabilities& p) const;

  // ids of the eight bin tokens, of the probability steps (local vocabularies only), of stop.
  const std::vector<TokenId>& bin_tokens() const { return bin_tokens_; }
  const std::vector<TokenId>& probability_tokens() const { return probability_tokens_; }
  TokenId stop_token() const { return stop_token_; }  // the first of sampling().stop_tokens
  SamplingOptions sampling(double temperature) const;
  const PromptFormat& format() const { return format_; }  // resolved
  WireFormat wire() const { return *format_.wire; }
  bool is_harmony() const { return harmony_ != nullptr; }
  const std::string& template_hash() const { return template_.hash(); }
  std::int64_t cut_prompts() const { return cut_->load(); }

 private:
  void find_local_pieces();

  PromptTemplate template_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<const ToolWire> harmony_;  // null: a local vocabulary
  PromptFormat format_;
  std::vector<TokenId> bin_tokens_;
  std::vector<TokenId> probability_tokens_;
  TokenId answer_token_ = 0;
  TokenId stop_token_ = 0;
  std::shared_ptr<std::atomic<std::int64_t>> cut_ = std::make_shared<std::atomic<std::int64_t>>(0);
};

}  // namespace kc
