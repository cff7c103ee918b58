#pragma once
// The wire format `tool` in Harmony's tokens: prompts, targets and sampled answers. Torch-free.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "forecast/tool_call.h"
#include "harmony/parser.h"
#include "harmony/renderer.h"

namespace kc {

inline constexpr const char* kDefaultPromptDate = "2025-08-05";

struct ToolWireOptions {
  ReasoningEffort effort = ReasoningEffort::medium;
  std::string date = kDefaultPromptDate;  // of the system message; fixed, so that a prompt never changes by itself
};

// Tokens of an answer, and the place of the bin's token among them.
struct AnswerTokens {
  std::vector<TokenId> tokens;
  std::size_t bin_at = 0;
};

// Thread-safe.
class ToolWire {
 public:
  // Error{bad_data} when a bin's digit is not one token of the vocabulary.
  ToolWire(std::shared_ptr<const Tokenizer> tokenizer, HarmonySpecials specials, const ToolWireOptions& options);

  struct EncodedPrompt {
    std::vector<TokenId> ids;  // ends in `<|start|>assistant`
    bool cut = false;
  };
  // System message, developer message (instructions, the tool), user message. With the direct reading's suffix it has
  // at most `max_tokens` ids: of an over-long user text the middle of each half is left out, never the frame around it.
  // Error{config} when the frame alone does not leave kLeastUserTokens for the user's text.
  EncodedPrompt prompt(const Prompt& prompt, std::int64_t max_tokens) const;
  static constexpr std::int64_t kLeastUserTokens = 16;

  // What follows a prompt up to the bin's digit when nothing is sampled: fixed reasoning, then the head of the call.
  const std::vector<TokenId>& direct_suffix() const { return direct_suffix_; }
  const std::vector<TokenId>& bin_tokens() const { return bin_tokens_; }  // "1" ... "8"

  // A whole answer to be learnt: the same fixed reasoning, then the call with these probabilities, `<|call|>`.
  AnswerTokens answer(Bin bin, const Probabilities& p) const;

  std::vector<TokenId> stop_tokens() const;  // <|call|>, <|return|>, and <|endoftext|> as a guard
  TokenId call_token() const { return renderer_.specials().call; }

  // `cut`: the limit of new tokens came.
  ParsedForecast parse(std::span<const TokenId> completion, bool cut) const;

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  HarmonyRenderer renderer_;
  std::vector<TokenId> system_;
  std::vector<TokenId> direct_suffix_;
  std::vector<TokenId> bin_tokens_;
};

// A sampled completion as a forecast: exactly one message to the tool, whatever ended it, in a turn that a stop token
// ended.
ParsedForecast parse_tool_tokens(const Tokenizer& tokenizer, const HarmonySpecials& specials,
                                 std::span<const TokenId> completion, bool cut, ParseRules rules = ParseRules::strict);

// Keeps `limit` of the ids by leaving out the middle of each half. Whole when they are not more than `limit`.
std::vector<TokenId> cut_in_the_middles(const std::vector<TokenId>& ids, std::int64_t limit);

}  // namespace kc
