#pragma once
// A vocabulary without training: one id per byte, then the reserved pieces in the order given.
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tokenizer/tokenizer.h"

namespace kc {

class FakeTokenizer final : public Tokenizer {
 public:
  explicit FakeTokenizer(std::vector<std::string> reserved) : reserved_(std::move(reserved)) {}

  std::vector<TokenId> encode(std::string_view text, bool allow_reserved) const override {
    std::vector<TokenId> ids;
    while (!text.empty()) {
      const std::size_t piece = allow_reserved ? reserved_at(text) : reserved_.size();
      if (piece < reserved_.size()) {
        ids.push_back(static_cast<TokenId>(kBytes + piece));
        text.remove_prefix(reserved_[piece].size());
      } else {
        ids.push_back(static_cast<unsigned char>(text.front()));
        text.remove_prefix(1);
      }
    }
    return ids;
  }
  std::string decode(std::span<const TokenId> ids) const override {
    std::string text;
    for (const TokenId id : ids) {
      if (id < kBytes) {
        text += static_cast<char>(id);
      } else {
        text += reserved_.at(static_cast<std::size_t>(id - kBytes));
      }
    }
    return text;
  }
  TokenId id_of(std::string_view piece) const override {
    const std::size_t index = reserved_at(piece);
    if (index == reserved_.size()) throw Error(ErrorKind::bad_data, "no piece " + std::string(piece));
    return static_cast<TokenId>(kBytes + index);
  }
  std::int64_t vocabulary_size() const override { return kBytes + static_cast<std::int64_t>(reserved_.size()); }
  std::string hash() const override { return "fake"; }
  void save(const std::filesystem::path&) const override {}

 private:
  static constexpr TokenId kBytes = 256;

  std::size_t reserved_at(std::string_view text) const {
    std::size_t i = 0;
    while (i < reserved_.size() && !text.starts_with(reserved_[i])) ++i;
    return i;
  }

  std::vector<std::string> reserved_;
};

}  // namespace kc
