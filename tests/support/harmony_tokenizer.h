#pragma once
// The byte vocabulary with Harmony's special tokens (ids 256 and up): texts survive, lengths are easy to reason about.
#include <memory>

#include "harmony/specials.h"
#include "tests/support/fake_tokenizer.h"

namespace kc {

inline std::shared_ptr<const Tokenizer> harmony_byte_tokenizer() {
  return std::make_shared<FakeTokenizer>(std::vector<std::string>{"<|endoftext|>", "<|return|>", "<|constrain|>",
                                                                  "<|channel|>", "<|start|>", "<|end|>", "<|message|>",
                                                                  "<|call|>", "<|reserved_1|>"});
}

}  // namespace kc
