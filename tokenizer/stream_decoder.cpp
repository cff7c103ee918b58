#include "tokenizer/stream_decoder.h"

#include <utility>

#include "tokenizer/utf8.h"

namespace kc {

std::string StreamDecoder::push(TokenId id) {
  std::string text = std::exchange(waiting_, {}) + tokenizer_->decode({&id, 1});
  const std::size_t unfinished = utf8_unfinished(text);
  waiting_ = text.substr(text.size() - unfinished);
  text.resize(text.size() - unfinished);
  return text;
}

std::string StreamDecoder::finish() { return std::exchange(waiting_, {}); }

}  // namespace kc
