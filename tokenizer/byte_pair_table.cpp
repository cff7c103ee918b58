#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "base/error.h"
#include "tokenizer/byte_pairs.h"

namespace kc {
namespace {

constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15U;  // 2^64 divided by the golden ratio

std::uint64_t load(const char* from, std::size_t count) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, count);
  return word;
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * kMultiplier;
  return hash ^ (hash >> 32);
}

std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = bytes.size() * kMultiplier;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left > 8; at += 8, left -= 8) hash = mixed(hash, load(at, 8));
  return mixed(mixed(hash, load(at, left)), 0);
}

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
  const std::uint64_t hash = hash_of(bytes);
  std::size_t at = hash & (slots_.size() - 1);
  while (slots_[at].id_plus_one != 0) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {static_cast<std::uint32_t>(id) + 1, static_cast<std::uint32_t>(hash >> 32)};
}

TokenId BytePairTable::find(std::string_view bytes) const {
  if (bytes.size() > longest_ || bytes.empty()) return kNone;
  const std::uint64_t hash = hash_of(bytes);
  const auto tag = static_cast<std::uint32_t>(hash >> 32);
  for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    const Slot slot = slots_[at];
    if (slot.id_plus_one == 0) return kNone;
    const auto id = static_cast<TokenId>(slot.id_plus_one - 1);
    if (slot.tag == tag && bytes_of(id) == bytes) return id;
  }
}

std::string_view BytePairTable::bytes_of(TokenId id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= size()) return {};
  const auto index = static_cast<std::size_t>(id);
  return std::string_view(text_).substr(starts_[index], starts_[index + 1] - starts_[index]);
}

}  // namespace kc
