#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "tokenizer/sentencepiece_tokenizer.h"
#include "tokenizer/utf8.h"

namespace kc {
namespace {

constexpr const char* kFileName = "tokenizer.model";
constexpr std::string_view kSpace = "\xE2\x96\x81";  // how SentencePiece writes a space

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  std::size_t at = 0;
  for (std::size_t hit = text.find(from); hit != std::string_view::npos; hit = text.find(from, at)) {
    out.append(text.substr(at, hit - at)).append(to);
    at = hit + from.size();
  }
  return out.append(text.substr(at));
}

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(std::string model, const std::string& name) : model_(std::move(model)) {
    // The library's own message names its source lines, and nothing of the file.
    if (const auto status = processor_.LoadFromSerializedProto(model_); !status.ok()) damaged(name);
    pieces_.resize(static_cast<std::size_t>(processor_.GetPieceSize()));
    bytes_.fill(-1);
    for (TokenId id = 0; id < processor_.GetPieceSize(); ++id)
      if (!add_piece(id)) damaged(name);
    newline_ = processor_.PieceToId("\n");
    if (std::find(bytes_.begin(), bytes_.end(), -1) != bytes_.end() || processor_.IsUnknown(newline_))
      throw Error(ErrorKind::bad_data,
                  fmt::format("{}: the vocabulary lacks byte pieces or a newline piece; train it with `train`", name));
    std::sort(reserved_.begin(), reserved_.end(),
              [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
    hash_ = sha256_hex(model_);
  }

  std::vector<TokenId> encode(std::string_view text, bool allow_reserved) const override {
    std::vector<TokenId> ids;
    ids.reserve(text.size() / 2 + 8);
    if (!allow_reserved) {
      encode_plain(text, ids);
      return ids;
    }
    std::size_t plain_from = 0;
    for (std::size_t at = 0; at < text.size();) {
      const auto* hit = reserved_at(text, at);
      if (hit == nullptr) {
        ++at;
        continue;
      }
      encode_plain(text.substr(plain_from, at - plain_from), ids);
      ids.push_back(hit->second);
      at += hit->first.size();
      plain_from = at;
    }
    encode_plain(text.substr(plain_from), ids);
    return ids;
  }

  std::string decode(std::span<const TokenId> ids) const override {
    std::string out;
    for (const TokenId id : ids)
      if (id >= 0 && id < static_cast<TokenId>(pieces_.size())) out += pieces_[static_cast<std::size_t>(id)];
    return out;
  }

  TokenId id_of(std::string_view piece) const override {
    const std::string name = replaced(piece, " ", kSpace);
    const TokenId id = processor_.PieceToId(name);
    if (processor_.IsUnknown(id))
      throw Error(ErrorKind::bad_data, fmt::format("\"{}\" is not one piece of this model's vocabulary", piece));
    return id;
  }

  std::int64_t vocabulary_size() const override { return processor_.GetPieceSize(); }
  std::string hash() const override { return hash_; }
  void save(const std::filesystem::path& folder) const override { write_file_atomically(folder / kFileName, model_); }

 private:
  [[noreturn]] void damaged(const std::string& name) const {
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: damaged, or not a SentencePiece vocabulary ({} bytes): copy it again from the model "
                            "folder that it came from",
                            name, model_.size()));
  }

  // False when a byte piece is not written "<0xAB>".
  bool add_piece(TokenId id) {
    const std::string& piece = processor_.IdToPiece(id);
    std::string& text = pieces_[static_cast<std::size_t>(id)];
    if (processor_.IsByte(id)) {
      unsigned byte = 0;
      const char* end = piece.data() + 5;
      if (piece.size() != 6 || std::from_chars(piece.data() + 3, end, byte, 16).ptr != end) return false;
      bytes_[byte] = id;
      text.assign(1, static_cast<char>(byte));
    } else if (processor_.IsControl(id)) {
      if (piece.empty()) return false;
      reserved_.emplace_back(piece, id);
      text = piece;
    } else {
      text = replaced(piece, kSpace, " ");
    }
    return true;
  }

  const std::pair<std::string, TokenId>* reserved_at(std::string_view text, std::size_t at) const {
    for (const auto& entry : reserved_)
      if (text[at] == entry.first[0] && text.substr(at, entry.first.size()) == entry.first) return &entry;
    return nullptr;
  }

  // Whatever SentencePiece would not give back as it was goes byte by byte.
  void encode_plain(std::string_view text, std::vector<TokenId>& ids) const {
    std::size_t from = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t length = utf8_length(text, at);
      if (length > 0 && sentence_character(text.substr(at, length))) {
        at += length;
        continue;
      }
      encode_sentence(text.substr(from, at - from), ids);
      if (text[at] == '\n') {
        ids.push_back(newline_);
        ++at;
      } else {
        for (const std::size_t end = at + std::max<std::size_t>(length, 1); at < end; ++at)
          ids.push_back(bytes_[static_cast<unsigned char>(text[at])]);
      }
      from = at;
    }
    encode_sentence(text.substr(from), ids);
  }

  void encode_sentence(std::string_view text, std::vector<TokenId>& ids) const {
    if (text.empty()) return;
    std::vector<int> part;
    if (const auto status = processor_.Encode({text.data(), text.size()}, &part); !status.ok())
      throw Error(ErrorKind::internal, "tokenizer: " + status.ToString());
    ids.insert(ids.end(), part.begin(), part.end());
  }

  std::string model_;
  std::string hash_;
  sentencepiece::SentencePieceProcessor processor_;
  std::vector<std::string> pieces_;  // text of each id
  std::array<TokenId, 256> bytes_;
  TokenId newline_ = -1;
  std::vector<std::pair<std::string, TokenId>> reserved_;  // longest first
};

}  // namespace

std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(std::string model, const std::string& name) {
  return std::make_unique<SentencePieceTokenizer>(std::move(model), name);
}

}  // namespace kc
