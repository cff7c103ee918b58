#include <algorithm>
#include <functional>

#include "tokenizer/byte_pairs.h"

namespace kc {
namespace {

constexpr std::size_t kShort = 96;  // bytes; up to here the smallest rank is found by looking at all
constexpr std::uint32_t kNoJoin = UINT32_MAX;

std::uint32_t rank_of(TokenId id) { return id == BytePairTable::kNone ? kNoJoin : static_cast<std::uint32_t>(id); }

// The tokens of one piece as a list of byte positions; a removed position is linked past. Joins wait in a heap ordered
// by rank, then position; what has changed since an entry was made is noticed when the entry comes up.
class MergeList {
 public:
  MergeList(const BytePairTable& table, std::string_view piece)
      : table_(table), piece_(piece), nodes_(piece.size() + 1) {
    const auto length = static_cast<std::uint32_t>(piece.size());
    for (std::uint32_t at = 0; at <= length; ++at) nodes_[at] = {at == 0 ? 0 : at - 1, at + 1, kNoJoin};
    heap_.reserve(piece.size());
    for (std::uint32_t at = 0; at + 1 < length; ++at) {
      nodes_[at].join = rank_of(table.find_pair(byte(at), byte(at + 1)));
      if (nodes_[at].join != kNoJoin) heap_.push_back(entry(at));
    }
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  void run() {
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      const std::uint64_t top = heap_.back();
      heap_.pop_back();
      const auto at = static_cast<std::uint32_t>(top);
      if (nodes_[at].join == top >> 32) join(at);
    }
  }

  void append_to(std::vector<TokenId>& ids) const {
    for (std::uint32_t at = 0; at < piece_.size(); at = nodes_[at].next)
      ids.push_back(table_.find(piece_.substr(at, nodes_[at].next - at)));
  }

 private:
  struct Node {
    std::uint32_t previous;
    std::uint32_t next;  // where the following token starts; the piece's length for the last one
    std::uint32_t join;  // rank of this token joined with the following one; kNoJoin also for removed positions
  };

  unsigned char byte(std::uint32_t at) const { return static_cast<unsigned char>(piece_[at]); }
  std::uint64_t entry(std::uint32_t at) const { return static_cast<std::uint64_t>(nodes_[at].join) << 32 | at; }

  void join(std::uint32_t at) {
    const std::uint32_t removed = nodes_[at].next;
    nodes_[at].next = nodes_[removed].next;
    nodes_[nodes_[at].next].previous = at;
    nodes_[removed].join = kNoJoin;
    rank_again(at);
    if (at > 0) rank_again(nodes_[at].previous);
  }

  void rank_again(std::uint32_t at) {
    const std::uint32_t next = nodes_[at].next;
    nodes_[at].join = next == piece_.size() ? kNoJoin : rank_of(table_.find(piece_.substr(at, nodes_[next].next - at)));
    if (nodes_[at].join == kNoJoin) return;
    heap_.push_back(entry(at));
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  const BytePairTable& table_;
  std::string_view piece_;
  std::vector<Node> nodes_;
  std::vector<std::uint64_t> heap_;  // rank << 32 | position
};

}  // namespace

void BytePairTable::encode_piece(std::string_view piece, std::vector<TokenId>& ids) const {
  if (const TokenId whole = find(piece); whole != kNone) {
    ids.push_back(whole);
  } else if (piece.size() <= kShort) {
    merge_short(piece, ids);
  } else {
    merge_long(piece, ids);
  }
}

void BytePairTable::merge_short(std::string_view piece, std::vector<TokenId>& ids) const {
  std::array<std::uint8_t, kShort + 1> starts;
  std::array<std::uint32_t, kShort + 1> joins;  // rank of the token at starts[i] joined with the next one
  std::size_t count = piece.size();
  for (std::size_t i = 0; i <= count; ++i) starts[i] = static_cast<std::uint8_t>(i);
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(piece[i]); };
  for (std::size_t i = 0; i + 1 < count; ++i) joins[i] = rank_of(find_pair(byte(i), byte(i + 1)));
  const auto rank_again = [&](std::size_t i) {
    joins[i] = i + 1 >= count ? kNoJoin : rank_of(find(piece.substr(starts[i], starts[i + 2] - starts[i])));
  };
  while (count > 1) {
    const auto* best = std::min_element(joins.data(), joins.data() + count - 1);
    if (*best == kNoJoin) break;
    const auto at = static_cast<std::size_t>(best - joins.data());
    std::copy(starts.data() + at + 2, starts.data() + count + 1, starts.data() + at + 1);
    std::copy(joins.data() + at + 1, joins.data() + count - 1, joins.data() + at);
    --count;
    rank_again(at);
    if (at > 0) rank_again(at - 1);
  }
  for (std::size_t i = 0; i < count; ++i) ids.push_back(find(piece.substr(starts[i], starts[i + 1] - starts[i])));
}

void BytePairTable::merge_long(std::string_view piece, std::vector<TokenId>& ids) const {
  MergeList list(*this, piece);
  list.run();
  list.append_to(ids);
}

}  // namespace kc
