#pragma once
#include <string>

#include "tokenizer/tokenizer.h"

namespace kc {

// Text of ids that arrive one by one, in whole characters: the bytes of one that is not complete yet wait. All outputs
// together are decode() of all ids. Bytes that cannot become a well-formed UTF-8 character are given out as they are.
class StreamDecoder {
 public:
  // `tokenizer` must outlive this.
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  std::string push(TokenId id);  // the text that `id` completes; may be empty
  std::string finish();          // what still waits, at most 3 bytes; ready for a new text after it

 private:
  const Tokenizer* tokenizer_;
  std::string waiting_;
};

}  // namespace kc
