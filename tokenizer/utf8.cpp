#include "tokenizer/utf8.h"

#include <algorithm>

namespace kc {
namespace {

bool continuation(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

// By its first byte; 0 when no character starts with it.
std::size_t length_by_lead(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  return lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
}

// No overlong forms, no surrogates, nothing past U+10FFFF.
bool second_fits(unsigned char lead, unsigned char second) {
  if (lead == 0xE0) return second >= 0xA0;
  if (lead == 0xED) return second <= 0x9F;
  if (lead == 0xF0) return second >= 0x90;
  if (lead == 0xF4) return second <= 0x8F;
  return true;
}

// How many of the `length` bytes at `at` are there and fit.
std::size_t fitting_bytes(std::string_view text, std::size_t at, std::size_t length) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  std::size_t fit = 1;
  while (fit < length && continuation(text, at + fit) && (fit > 1 || second_fits(byte(0), byte(1)))) ++fit;
  return fit;
}

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const std::size_t length = length_by_lead(static_cast<unsigned char>(text[at]));
  if (length <= 1) return length;
  return fitting_bytes(text, at, length) == length ? length : 0;
}

std::size_t utf8_unfinished(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const std::size_t at = text.size() - back;
    if (continuation(text, at)) continue;
    const std::size_t length = length_by_lead(static_cast<unsigned char>(text[at]));
    return length > back && fitting_bytes(text, at, length) == back ? back : 0;
  }
  return 0;
}

bool sentence_character(std::string_view character) {
  if (character.size() == 1) {
    const auto c = static_cast<unsigned char>(character[0]);
    return (c >= 0x20 && c != 0x7F) || c == '\t';
  }
  return character != "\xE2\x96\x81" && character != "\xE2\x96\x85";  // its space and its unknown
}

}  // namespace kc
