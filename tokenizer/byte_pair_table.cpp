#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "base/error.h"
#include "tokenizer/byte_pairs.h"

namespace kc {
namespace {

constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15U;  // 2^64 divided by the golden ratio

template <class Word>
std::uint64_t word_at(const char* from) {
  Word word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// The first bytes, at most eight, as one number; overlapping loads, as a copy of unknown length is a slow call.
std::uint64_t first_bytes(std::string_view bytes) {
  const char* at = bytes.data();
  const std::size_t count = bytes.size();
  if (count >= 8) return word_at<std::uint64_t>(at);
  if (count >= 4) return word_at<std::uint32_t>(at) | word_at<std::uint32_t>(at + count - 4) << (8 * (count - 4));
  if (count >= 2) return word_at<std::uint16_t>(at) | word_at<std::uint16_t>(at + count - 2) << (8 * (count - 2));
  return static_cast<unsigned char>(at[0]);
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * kMultiplier;
  return hash ^ (hash >> 32);
}

// Precondition: not empty; `first` is first_bytes(bytes).
std::uint64_t hash_of(std::string_view bytes, std::uint64_t first) {
  std::uint64_t hash = mixed(bytes.size() * kMultiplier, first);
  for (std::size_t at = 8; at + 8 < bytes.size(); at += 8)
    hash = mixed(hash, word_at<std::uint64_t>(bytes.data() + at));
  if (bytes.size() > 8) hash = mixed(hash, word_at<std::uint64_t>(bytes.data() + bytes.size() - 8));
  return mixed(hash, 0);
}

std::uint64_t filter_bit(std::uint64_t hash) { return std::uint64_t{1} << (hash & 63U); }

}  // namespace

BytePairTable::BytePairTable(const std::vector<std::string>& tokens, const std::string& name) : pairs_(65536, kNone) {
  bytes_.fill(kNone);
  std::size_t total = 0;
  for (const std::string& token : tokens) {
    total += token.size();
    longest_ = std::max(longest_, token.size());
  }
  if (total >= UINT32_MAX || tokens.size() >= INT32_MAX)
    throw Error(ErrorKind::bad_data, name + ": the vocabulary is too large: 4 GiB of tokens at most");
  text_.reserve(total);
  starts_.reserve(tokens.size() + 1);
  starts_.push_back(0);
  for (const std::string& token : tokens) starts_.push_back(static_cast<std::uint32_t>(text_.append(token).size()));
  slots_.resize(std::bit_ceil(2 * tokens.size() + 2));
  filter_.resize(std::bit_ceil(tokens.size() + 64) / 8);
  for (std::size_t id = 0; id < tokens.size(); ++id)
    if (!tokens[id].empty()) insert(static_cast<TokenId>(id), name);
  for (std::size_t byte = 0; byte < bytes_.size(); ++byte)
    if (bytes_[byte] == kNone)
      throw Error(
          ErrorKind::bad_data,
          fmt::format("{}: no token for the single byte 0x{:02X}; a byte-pair vocabulary has all 256", name, byte));
}

void BytePairTable::insert(TokenId id, const std::string& name) {
  const std::string_view bytes = bytes_of(id);
  if (const TokenId other = find(bytes); other != kNone)
    throw Error(ErrorKind::bad_data, fmt::format("{}: ids {} and {} have the same bytes", name, other, id));
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.size() == 1) bytes_[byte(0)] = id;
  if (bytes.size() == 2) pairs_[byte(0) * 256U + byte(1)] = id;
  const std::uint64_t first = first_bytes(bytes);
  const std::uint64_t hash = hash_of(bytes, first);
  std::size_t at = hash & (slots_.size() - 1);
  while (slots_[at].length != 0) at = (at + 1) & (slots_.size() - 1);
  filter_[(hash >> 6) & (filter_.size() - 1)] |= filter_bit(hash);
  slots_[at] = {first, static_cast<std::uint32_t>(bytes.size()), id};
}

TokenId BytePairTable::find(std::string_view bytes) const {
  if (bytes.size() > longest_ || bytes.empty()) return kNone;
  const std::uint64_t first = first_bytes(bytes);
  const std::uint64_t hash = hash_of(bytes, first);
  if ((filter_[(hash >> 6) & (filter_.size() - 1)] & filter_bit(hash)) == 0) return kNone;
  for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.length == 0) return kNone;
    if (slot.first_bytes == first && slot.length == bytes.size() && (bytes.size() <= 8 || bytes_of(slot.id) == bytes))
      return slot.id;
  }
}

}  // namespace kc
