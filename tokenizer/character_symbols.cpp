#include "tokenizer/character_symbols.h"

#include <array>
#include <cstring>
#include <vector>

#include "tokenizer/utf8.h"

namespace kc {
namespace {

constexpr std::uint32_t kCodePoints = 0x110000;
constexpr std::uint32_t kBlock = 256;
constexpr std::uint64_t kHighBits = 0x8080808080808080U;

// Named as in unicode_classes.inc, and of the values of CharacterSymbol.
enum UnicodeClass : std::uint8_t {
  upper = symbol_upper,
  lower = symbol_lower,
  letter = symbol_letter,
  mark = symbol_mark,
  number = symbol_number,
  space = symbol_space,
};

struct ClassRange {
  std::uint32_t first;
  std::uint32_t last;
  UnicodeClass symbol;
};

constexpr ClassRange kRanges[] = {
#include "tokenizer/unicode_classes.inc"
};

// Two stages: most blocks of 256 code points are all of one class and share their row.
struct SymbolTable {
  std::array<std::uint16_t, kCodePoints / kBlock> block{};
  std::vector<std::array<std::uint8_t, kBlock>> rows;

  SymbolTable() {
    std::vector<std::uint8_t> symbols(kCodePoints, symbol_other);
    for (const ClassRange& range : kRanges)
      std::memset(symbols.data() + range.first, range.symbol, range.last - range.first + 1);
    for (std::uint32_t ascii = 0; ascii < 0x80; ++ascii) symbols[ascii] = static_cast<std::uint8_t>(ascii);
    symbols[0x17F] = symbol_long_s;
    for (std::uint32_t first = 0; first < kCodePoints; first += kBlock) add(first, symbols.data() + first);
  }

  void add(std::uint32_t first, const std::uint8_t* symbols) {
    std::size_t row = 0;
    while (row < rows.size() && std::memcmp(rows[row].data(), symbols, kBlock) != 0) ++row;
    if (row == rows.size()) std::memcpy(rows.emplace_back().data(), symbols, kBlock);
    block[first / kBlock] = static_cast<std::uint16_t>(row);
  }

  std::uint8_t of(std::uint32_t code_point) const { return rows[block[code_point / kBlock]][code_point % kBlock]; }
};

const SymbolTable& table() {
  static const SymbolTable symbols;
  return symbols;
}

// Precondition: a well-formed character of `length` bytes at `at`.
std::uint32_t code_point_at(std::string_view text, std::size_t at, std::size_t length) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i])); };
  if (length == 1) return byte(0);
  if (length == 2) return (byte(0) & 0x1FU) << 6 | (byte(1) & 0x3FU);
  if (length == 3) return (byte(0) & 0xFU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
  return (byte(0) & 0x7U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 | (byte(3) & 0x3FU);
}

std::uint64_t eight_bytes(const char* from) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, from, sizeof bytes);
  return bytes;
}

std::size_t character_length(std::uint8_t symbol, char lead) {
  if (symbol < 0x80 || symbol == symbol_invalid) return 1;
  const auto byte = static_cast<unsigned char>(lead);
  return byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
}

}  // namespace

std::uint8_t symbol_of(std::uint32_t code_point) { return table().of(code_point); }

bool is_ascii(std::string_view text) {
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8)
    if ((eight_bytes(text.data() + at) & kHighBits) != 0) return false;
  for (; at < text.size(); ++at)
    if (static_cast<unsigned char>(text[at]) >= 0x80) return false;
  return true;
}

std::string symbols_of(std::string_view text) {
  const SymbolTable& symbols = table();
  std::string out(text.size(), '\0');
  std::size_t written = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (at + 8 <= text.size() && (eight_bytes(text.data() + at) & kHighBits) == 0) {
      std::memcpy(out.data() + written, text.data() + at, 8);
      written += 8;
      at += 8;
      continue;
    }
    const std::size_t length = utf8_length(text, at);
    const std::uint8_t symbol =
        length == 0 ? std::uint8_t{symbol_invalid} : symbols.of(code_point_at(text, at, length));
    out[written++] = static_cast<char>(symbol);
    at += length == 0 ? 1 : length;
  }
  out.resize(written);
  return out;
}

std::size_t bytes_of_symbols(std::string_view symbols, std::string_view text, std::size_t at) {
  const std::size_t from = at;
  for (const char symbol : symbols) at += character_length(static_cast<std::uint8_t>(symbol), text[at]);
  return at - from;
}

}  // namespace kc
