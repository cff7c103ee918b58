#pragma once
// Byte-pair encoding by rank: the tokens' bytes, and how the bytes of a piece are joined into tokens.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace kc {

// Byte strings by token id, which is also the rank: of two possible joins the smaller id is made first.
class BytePairTable {
 public:
  // tokens[id]; an empty string is an id without a token. `name` stands for the file in messages. Error{bad_data} when
  // one of the 256 single bytes is missing, or two ids have the same bytes.
  BytePairTable(const std::vector<std::string>& tokens, const std::string& name);

  static constexpr TokenId kNone = -1;
  TokenId find(std::string_view bytes) const;  // kNone when no token has these bytes
  TokenId find_pair(unsigned char first, unsigned char second) const { return pairs_[first * 256U + second]; }
  TokenId find_byte(unsigned char byte) const { return bytes_[byte]; }
  std::string_view bytes_of(TokenId id) const {  // empty for an id without a token
    if (id < 0 || static_cast<std::size_t>(id) >= size()) return {};
    const auto index = static_cast<std::size_t>(id);
    return std::string_view(text_).substr(starts_[index], starts_[index + 1] - starts_[index]);
  }
  std::size_t size() const { return starts_.size() - 1; }
  std::size_t longest() const { return longest_; }  // bytes of the longest token

  // Appends the tokens of a piece: itself when it is a token; else, from single bytes, the adjacent pair whose bytes
  // have the smallest id is joined (the leftmost of equals) until none is left. O(n log n). Precondition: below 4 GiB.
  void encode_piece(std::string_view piece, std::vector<TokenId>& ids) const;

 private:
  struct Slot {
    std::uint64_t first_bytes = 0;  // at most eight: most tokens are found without a look at text_
    std::uint32_t length = 0;       // 0: free
    TokenId id = kNone;
  };

  void insert(TokenId id, const std::string& name);
  void merge_short(std::string_view piece, std::vector<TokenId>& ids) const;
  void merge_long(std::string_view piece, std::vector<TokenId>& ids) const;

  std::string text_;                   // all tokens end to end
  std::vector<std::uint32_t> starts_;  // of each id in text_, and the end
  std::vector<Slot> slots_;            // open addressing, power of two
  std::vector<std::uint64_t> filter_;  // a bit per hash: most lookups are of bytes that are no token, and end here
  std::vector<TokenId> pairs_;         // [65536]: two-byte tokens
  std::array<TokenId, 256> bytes_{};
  std::size_t longest_ = 0;
};

}  // namespace kc
