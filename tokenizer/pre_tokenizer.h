#pragma once
// Cuts text into the pieces that byte pairs are joined within: o200k's split pattern, by PCRE2 with its JIT.
#include <functional>
#include <memory>
#include <string_view>

namespace kc {

// The pattern as tiktoken and tokenizer.json spell it; no other is supported.
extern const std::string_view kO200kPattern;

// Thread-safe after construction.
class PreTokenizer {
 public:
  PreTokenizer();  // Error{environment} when PCRE2 refuses the pattern
  ~PreTokenizer();
  PreTokenizer(const PreTokenizer&) = delete;
  PreTokenizer& operator=(const PreTokenizer&) = delete;

  // Calls `visit` with each piece, in order; together they are `text`. Any bytes: one that belongs to no well-formed
  // UTF-8 character counts as a character that is neither letter, number, mark nor space. Time and memory are linear.
  void split(std::string_view text, const std::function<void(std::string_view piece)>& visit) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kc
