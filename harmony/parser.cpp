#include "harmony/parser.h"

namespace kc {

HarmonyParser::HarmonyParser(const Tokenizer& tokenizer, HarmonySpecials specials, From from)
    : tokenizer_(&tokenizer), ids_(specials) {
  if (from == From::completion) begin(true);
}

void HarmonyParser::begin(bool completion) {
  state_ = State::header;
  completion_ = completion;
  text_.clear();
  current_ = {};
}

void HarmonyParser::close(MessageEnd end) {
  if (state_ == State::header) {
    current_.message.role = HarmonyRole::assistant;
    current_.has_header = false;
  }
  current_.message.content = tokenizer_->decode(text_);
  // A header in which nothing stands is no message: some models put a blank between two.
  const bool is_blank = current_.message.content.find_first_not_of(" \t\r\n") == std::string::npos;
  if (state_ == State::content || (state_ == State::header && !is_blank)) {
    current_.end = end;
    messages_.push_back(std::move(current_));
  }
  state_ = State::expect_start;
  text_.clear();
  current_ = {};
}

ParsedMessage HarmonyParser::current() const {
  ParsedMessage growing = current_;
  if (state_ == State::content) growing.message.content = tokenizer_->decode(text_);
  return growing;
}

void HarmonyParser::feed(TokenId token) {
  if (token == ids_.start) {
    close(MessageEnd::start);
    begin(false);
  } else if (token == ids_.end) {
    close(MessageEnd::end);
  } else if (token == ids_.call) {
    close(MessageEnd::call);
  } else if (token == ids_.returns) {
    close(MessageEnd::returns);
  } else if (token == ids_.end_of_text) {
    close(MessageEnd::end_of_text);
  } else {
    feed_text(token);
  }
}

// A channel, a content or a text without <|start|> before it begins the assistant's next message.
void HarmonyParser::feed_text(TokenId token) {
  if (state_ == State::expect_start) begin(true);
  if (state_ == State::header && token == ids_.message) {
    current_ = parse_header(tokenizer_->decode(text_), completion_);
    text_.clear();
    state_ = State::content;
    return;
  }
  text_.push_back(token);
}

void HarmonyParser::finish() { close(MessageEnd::open); }

std::vector<ParsedMessage> parse_completion(const Tokenizer& tokenizer, const HarmonySpecials& specials,
                                            std::span<const TokenId> tokens) {
  HarmonyParser parser(tokenizer, specials, HarmonyParser::From::completion);
  for (const TokenId token : tokens) parser.feed(token);
  parser.finish();
  return parser.messages();
}

bool calls_function(const HarmonyMessage& message, std::string_view function) {
  if (message.role != HarmonyRole::assistant) return false;
  std::string_view recipient = message.recipient;
  if (constexpr std::string_view kPrefix = "functions."; recipient.starts_with(kPrefix)) {
    recipient.remove_prefix(kPrefix.size());
  }
  return recipient == function;
}

}  // namespace kc
