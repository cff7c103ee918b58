#pragma once
#include <memory>
#include <string>

#include "tokenizer/tokenizer.h"

namespace kc {

// From the bytes of a vocabulary file; `name` stands for it in messages. Error{bad_data} when not understood.
std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(std::string model, const std::string& name);

}  // namespace kc
