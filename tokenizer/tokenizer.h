#pragma once
// Text to token ids and back. The rest of the system does not know which vocabulary it has.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kc {

using TokenId = std::int32_t;

// Thread-safe after construction.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // Reserved pieces ("<|answer|>", ...) in `text` become their single id only when `allow_reserved`; otherwise they are
  // plain characters, so no kernel's text can forge one.
  virtual std::vector<TokenId> encode(std::string_view text, bool allow_reserved) const = 0;
  // Reserved pieces spelled out. Total: an id without a piece is nothing. The bytes of a sequence are those of its ids
  // one after another; a character's bytes may be spread over several ids (stream_decoder.h).
  virtual std::string decode(std::span<const TokenId> ids) const = 0;
  virtual TokenId id_of(std::string_view piece) const = 0;  // Error{bad_data} when not one piece
  virtual std::int64_t vocabulary_size() const = 0;         // largest id + 1; a model may have more rows
  virtual std::string hash() const = 0;                     // SHA-256 that names the vocabulary
  // Writes what load_tokenizer() reads: tokenizer.model, or tokenizer.json and what transformers wants beside it.
  virtual void save(const std::filesystem::path& folder) const = 0;
};

// Opens the vocabulary of a model folder, or the file that `path` names. Of several the first counts: tokenizer.model
// (SentencePiece), tokenizer.json (byte-level BPE, docs/tokenizer.md), o200k_base.tiktoken, the one *.tiktoken or
// *.tiktoken.gz. Error{bad_data} names file and fault when missing or not understood.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path);

// Whether the folder holds one of these files.
bool has_tokenizer(const std::filesystem::path& folder);

struct VocabularyOptions {
  std::int64_t size = 2048;
  bool split_digits = false;               // measured: whole numbers as pieces learn better
  bool split_words = false;                // measured: pieces that span `NAME value` learn better than one piece a word
  std::vector<std::string> reserved = {};  // pieces that are one id each
};

// Trains a SentencePiece BPE vocabulary (byte fallback, no unicode-script splitting, whitespace and newlines kept
// exactly) on `texts`; deterministic. decode(encode(x)) == x for every valid UTF-8 text.
std::unique_ptr<Tokenizer> train_tokenizer(const std::vector<std::string>& texts, const VocabularyOptions& options);

}  // namespace kc
