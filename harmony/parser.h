#pragma once
// From sampled tokens to messages, while they come. Total: every token sequence gives messages, nothing throws.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harmony/conversation.h"
#include "harmony/specials.h"

namespace kc {

enum class MessageEnd {
  open,         // the tokens stopped before it ended
  end,          // <|end|>
  call,         // <|call|>
  returns,      // <|return|>
  end_of_text,  // <|endoftext|>
  start,        // the next message began without an end
};

struct ParsedMessage {
  HarmonyMessage message;  // content in bytes: a token need not hold whole characters
  MessageEnd end = MessageEnd::open;
  bool has_header = true;  // false: it ended before <|message|>, and what stood there is its content
  std::string junk = {};   // header words that mean nothing
};

// What stands between <|start|> and <|message|>, special tokens spelled out. `completion`: the role was given by the
// prompt (`<|start|>assistant`), so the first word need not name it. Lenient (docs/harmony.md lists how).
ParsedMessage parse_header(std::string_view header, bool completion);

// One pass, a token at a time. Well-formed input gives what openai-harmony's strict parser gives.
class HarmonyParser {
 public:
  enum class From {
    completion,    // right after the prompt's `<|start|>assistant`
    conversation,  // before a <|start|>
  };
  // `tokenizer` must outlive the parser.
  HarmonyParser(const Tokenizer& tokenizer, HarmonySpecials specials, From from);

  void feed(TokenId token);
  // The tokens are over: an open message is kept, marked open. feed() may go on after it, with a new message.
  void finish();

  enum class State { expect_start, header, content };
  State state() const { return state_; }
  // Finished messages, in order.
  const std::vector<ParsedMessage>& messages() const { return messages_; }
  // In state `content`: the message that is growing; otherwise the empty message.
  ParsedMessage current() const;

 private:
  void begin(bool completion);
  void close(MessageEnd end);
  void feed_text(TokenId token);

  const Tokenizer* tokenizer_;
  HarmonySpecials ids_;
  State state_ = State::expect_start;
  bool completion_ = false;    // of the header that is being read
  std::vector<TokenId> text_;  // of the header or the content that is being read
  ParsedMessage current_;
  std::vector<ParsedMessage> messages_;
};

// All at once.
std::vector<ParsedMessage> parse_completion(const Tokenizer& tokenizer, const HarmonySpecials& specials,
                                            std::span<const TokenId> tokens);

// Whether the assistant's message calls this function: its recipient is the name, with or without `functions.`.
bool calls_function(const HarmonyMessage& message, std::string_view function);

}  // namespace kc
