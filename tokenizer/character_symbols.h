#pragma once
// Text as one byte a character, for split patterns that ask for a character's class only. A regular expression over
// these bytes needs neither UTF-8 nor Unicode tables of its own, so the Unicode version is ours (unicode_classes.inc:
// 16.0, tiktoken's) and not that of the installed PCRE2.
#include <cstdint>
#include <string>
#include <string_view>

namespace kc {

// An ASCII character stands for itself; any other for its class:
enum CharacterSymbol : std::uint8_t {
  symbol_upper = 0x80,    // Lu, Lt
  symbol_lower = 0x81,    // Ll
  symbol_letter = 0x82,   // Lm, Lo
  symbol_mark = 0x83,     // M
  symbol_number = 0x84,   // N
  symbol_space = 0x85,    // White_Space
  symbol_other = 0x86,    // everything else, unassigned code points too
  symbol_long_s = 0x87,   // U+017F, a lower-case letter that folds to s
  symbol_invalid = 0x88,  // one byte that belongs to no well-formed UTF-8 character; of no class
};

// Precondition: code_point <= 0x10FFFF.
std::uint8_t symbol_of(std::uint32_t code_point);

// One symbol a character. Total: any bytes.
std::string symbols_of(std::string_view text);

// Bytes of `text` from `at` on that `symbols` (a part of symbols_of(text)) stand for.
std::size_t bytes_of_symbols(std::string_view symbols, std::string_view text, std::size_t at);

bool is_ascii(std::string_view text);

}  // namespace kc
