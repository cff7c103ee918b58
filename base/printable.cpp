#include "base/printable.h"

#include <fmt/format.h>

namespace kc {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(i < text.size() ? text[i] : '\0');
}

bool is_between(unsigned char c, unsigned char low, unsigned char high) { return c >= low && c <= high; }

// Bytes of the UTF-8 character that `text` begins with, of two bytes or more; 0: it begins with none.
std::size_t wide_character(std::string_view text) {
  const unsigned char first = byte_at(text, 0);
  const unsigned char second = byte_at(text, 1);
  const std::size_t length = is_between(first, 0xC2, 0xDF)   ? 2
                             : is_between(first, 0xE0, 0xEF) ? 3
                             : is_between(first, 0xF0, 0xF4) ? 4
                                                             : 0;
  // No longer form of a character than it needs, no surrogate, nothing above U+10FFFF.
  const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (length == 0 || !is_between(second, low, high)) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if (!is_between(byte_at(text, i), 0x80, 0xBF)) return 0;
  return length;
}

std::string escaped(unsigned char c) {
  if (c == '\n') return "\\n";
  if (c == '\t') return "\\t";
  return fmt::format("\\x{:02x}", c);
}

}  // namespace

std::string printable(std::string_view text, std::string_view kept) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const unsigned char c = byte_at(text, i);
    const std::size_t wide = wide_character(text.substr(i));
    if (wide == 2 && c == 0xC2 && byte_at(text, i + 1) <= 0x9F) {  // U+0080 to U+009F
      shown += escaped(byte_at(text, i + 1));
    } else if (wide > 0 || is_between(c, 0x20, 0x7E) || kept.find(text[i]) != std::string_view::npos) {
      shown += text.substr(i, wide > 0 ? wide : 1);
    } else {
      shown += escaped(c);
    }
    i += wide > 0 ? wide : 1;
  }
  return shown;
}

}  // namespace kc
