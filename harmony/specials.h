#pragma once
#include <optional>

#include "tokenizer/tokenizer.h"

namespace kc {

// Ids of Harmony's special tokens in one vocabulary (o200k_harmony's are in brackets).
struct HarmonySpecials {
  TokenId end_of_text = 0;  // <|endoftext|> (199999): padding, a guard when sampling
  TokenId returns = 0;      // <|return|> (200002): the turn is over
  TokenId constrain = 0;    // <|constrain|> (200003)
  TokenId channel = 0;      // <|channel|> (200005)
  TokenId start = 0;        // <|start|> (200006)
  TokenId end = 0;          // <|end|> (200007): ends a message, not the turn
  TokenId message = 0;      // <|message|> (200008)
  TokenId call = 0;         // <|call|> (200012): the turn is over, a tool is to run

  // None when the vocabulary lacks one of them: not a Harmony tokenizer.
  static std::optional<HarmonySpecials> find(const Tokenizer& tokenizer);
};

}  // namespace kc
