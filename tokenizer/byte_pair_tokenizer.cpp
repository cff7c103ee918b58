#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "tokenizer/byte_pair_vocabulary.h"
#include "tokenizer/pre_tokenizer.h"

namespace kc {
namespace {

// Of the contents, not of a file: the same vocabulary has one hash as tokenizer.json and as a rank file.
std::string contents_hash(const BytePairTable& table, const ReservedPieces& reserved) {
  std::string text = "byte pairs, o200k pattern\n";
  for (std::size_t id = 0; id < table.size(); ++id) {
    const std::string_view bytes = table.bytes_of(static_cast<TokenId>(id));
    if (!bytes.empty()) text.append(fmt::format("{} {} ", id, bytes.size())).append(bytes);
  }
  ReservedPieces sorted = reserved;
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [name, id] : sorted) text += fmt::format("\n{} {}", id, name);
  return sha256_hex(text);
}

class BytePairTokenizer final : public Tokenizer {
 public:
  BytePairTokenizer(ByteVocabulary vocabulary, const std::string& name)
      : table_(vocabulary.tokens, name),
        reserved_(std::move(vocabulary.reserved)),
        files_(std::move(vocabulary.files)),
        size_(static_cast<std::int64_t>(table_.size())) {
    for (const auto& [piece, id] : reserved_) add_reserved(piece, id, name);
    add_second_name(name);
    std::sort(lengths_.rbegin(), lengths_.rend());
    lengths_.erase(std::unique(lengths_.begin(), lengths_.end()), lengths_.end());
    hash_ = contents_hash(table_, reserved_);
  }

  std::vector<TokenId> encode(std::string_view text, bool allow_reserved) const override {
    if (text.size() >= UINT32_MAX)
      throw Error(ErrorKind::bad_data,
                  fmt::format("cannot encode a text of {} bytes: 4 GiB at most; cut it into parts", text.size()));
    std::vector<TokenId> ids;
    ids.reserve(text.size() / 3 + 8);
    std::size_t plain_from = 0;
    for (std::size_t at = allow_reserved ? next_start(text, 0) : text.size(); at < text.size();) {
      const auto* hit = reserved_at(text.substr(at));
      if (hit == nullptr) {
        at = next_start(text, at + 1);
        continue;
      }
      encode_plain(text.substr(plain_from, at - plain_from), ids);
      ids.push_back(hit->second);
      plain_from = at + hit->first.size();
      at = next_start(text, plain_from);
    }
    encode_plain(text.substr(plain_from), ids);
    return ids;
  }

  std::string decode(std::span<const TokenId> ids) const override {
    std::string text;
    text.reserve(4 * ids.size());
    for (const TokenId id : ids) {
      const std::string_view bytes = table_.bytes_of(id);
      text += bytes;
      if (!bytes.empty()) continue;
      if (const auto name = names_.find(id); name != names_.end()) text += name->second;
    }
    return text;
  }

  TokenId id_of(std::string_view piece) const override {
    if (const auto found = ids_.find(piece); found != ids_.end()) return found->second;
    const TokenId id = table_.find(piece);
    if (id == BytePairTable::kNone)
      throw Error(ErrorKind::bad_data, fmt::format("\"{}\" is not one piece of this model's vocabulary", piece));
    return id;
  }

  std::int64_t vocabulary_size() const override { return size_; }
  std::string hash() const override { return hash_; }

  void save(const std::filesystem::path& folder) const override {
    for (const auto& [name, contents] : files_) write_file_atomically(folder / name, contents);
    if (!files_.empty()) return;
    write_file_atomically(folder / "tokenizer.json", tokenizer_json(table_, reserved_));
    write_file_atomically(folder / "tokenizer_config.json", tokenizer_config_json(reserved_));
  }

 private:
  using Ids = std::map<std::string, TokenId, std::less<>>;

  void add_reserved(const std::string& piece, TokenId id, const std::string& name) {
    if (!table_.bytes_of(id).empty())
      throw Error(ErrorKind::bad_data,
                  fmt::format("{}: id {} belongs to \"{}\" and to a token of the vocabulary", name, id, piece));
    if (!ids_.emplace(piece, id).second)
      throw Error(ErrorKind::bad_data, fmt::format("{}: the reserved piece \"{}\" is given twice", name, piece));
    names_.emplace(id, piece);
    lengths_.push_back(piece.size());
    if (starts_.find(piece[0]) == std::string::npos) starts_ += piece[0];
    size_ = std::max<std::int64_t>(size_, id + 1);
  }

  void add_second_name(const std::string& name) {
    const auto end = ids_.find("<|endofprompt|>");
    if (end == ids_.end() || !ids_.contains("<|call|>")) return;
    const std::string second = fmt::format("<|reserved_{}|>", end->second);
    if (!ids_.contains(second)) add_reserved(second, end->second, name);
  }

  std::size_t next_start(std::string_view text, std::size_t from) const {
    return std::min(text.find_first_of(starts_, from), text.size());
  }

  const Ids::value_type* reserved_at(std::string_view text) const {
    for (const std::size_t length : lengths_) {
      if (length > text.size()) continue;
      if (const auto found = ids_.find(text.substr(0, length)); found != ids_.end()) return &*found;
    }
    return nullptr;
  }

  void encode_plain(std::string_view text, std::vector<TokenId>& ids) const {
    pre_tokenizer_.split(text, [&](std::string_view piece) { table_.encode_piece(piece, ids); });
  }

  BytePairTable table_;
  PreTokenizer pre_tokenizer_;
  ReservedPieces reserved_;
  std::vector<std::pair<std::string, std::string>> files_;
  Ids ids_;                               // of the reserved pieces
  std::map<TokenId, std::string> names_;  // what an id of a reserved piece decodes to
  std::vector<std::size_t> lengths_;      // of the reserved pieces, longest first
  std::string starts_;                    // their first bytes
  std::int64_t size_ = 0;
  std::string hash_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_pair_tokenizer(ByteVocabulary vocabulary, const std::string& name) {
  return std::make_unique<BytePairTokenizer>(std::move(vocabulary), name);
}

}  // namespace kc
