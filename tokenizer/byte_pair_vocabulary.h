#pragma once
// The contents of a byte-pair vocabulary file, and the tokenizer made from them.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/byte_pairs.h"
#include "tokenizer/tokenizer.h"

namespace kc {

using ReservedPieces = std::vector<std::pair<std::string, TokenId>>;  // name, id

struct ByteVocabulary {
  std::vector<std::string> tokens;  // bytes by id, which is also the rank; empty: no byte token
  ReservedPieces reserved;
  // Name and contents of the files that save() writes. Empty: tokenizer.json and tokenizer_config.json are made.
  std::vector<std::pair<std::string, std::string>> files;
};

// `name` stands for the file in messages. Error{bad_data} when it is no whole vocabulary (byte_pairs.h), or two
// reserved pieces have one name, or share an id with a byte token. Harmony's <|endofprompt|> gets its second name,
// <|reserved_ID|>, which no file can say: tokenizers would give that name an id of its own.
std::unique_ptr<Tokenizer> make_byte_pair_tokenizer(ByteVocabulary vocabulary, const std::string& name);

// A rank file of tiktoken: lines "base64 rank", ranks 0 to n-1 in any order; the reserved pieces are
// harmony_reserved(n). Error{bad_data} names file and line.
ByteVocabulary parse_tiktoken(std::string_view text, const std::string& name);

// The reserved pieces of o200k_harmony after `byte_tokens` byte tokens, by id: for o200k's 199,998 all of tiktoken's
// (ids 199998 to 201087). After a table of another size the same names, shifted, up to <|endofprompt|>.
ReservedPieces harmony_reserved(std::size_t byte_tokens);

// A tokenizer.json of Hugging Face with a byte-level BPE model and o200k's split pattern. Ranks are the ids of
// model.vocab, model.merges is ignored. Error{bad_data} names the file and the key whose value is not supported.
ByteVocabulary parse_tokenizer_json(const std::string& text, const std::string& name);

// The two files that transformers needs to open the vocabulary.
std::string tokenizer_json(const BytePairTable& table, const ReservedPieces& reserved);
std::string tokenizer_config_json(const ReservedPieces& reserved);

}  // namespace kc
