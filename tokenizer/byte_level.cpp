#include "tokenizer/byte_level.h"

#include <array>

#include "tokenizer/utf8.h"

namespace kc {
namespace {

constexpr std::size_t kCharacters = 0x144;  // 256 bytes, 68 of which are moved to U+0100 and above

struct ByteMap {
  std::array<std::string, 256> text;
  std::array<int, kCharacters> byte;

  ByteMap() {
    byte.fill(-1);
    unsigned moved = 0x100;
    for (unsigned b = 0; b < 256; ++b) {
      const bool kept = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      const unsigned character = kept ? b : moved++;
      byte[character] = static_cast<int>(b);
      if (character < 0x80)
        text[b] = static_cast<char>(character);
      else
        text[b] = {static_cast<char>(0xC0U | character >> 6), static_cast<char>(0x80U | (character & 0x3FU))};
    }
  }
};

const ByteMap& byte_map() {
  static const ByteMap map;
  return map;
}

}  // namespace

std::string byte_level_text(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += byte_map().text[static_cast<unsigned char>(byte)];
  return text;
}

std::optional<std::string> byte_level_bytes(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length != 1 && length != 2) return std::nullopt;
    const auto lead = static_cast<unsigned char>(text[at]);
    const unsigned character =
        length == 1 ? lead : (lead & 0x1FU) << 6 | (static_cast<unsigned char>(text[at + 1]) & 0x3FU);
    if (character >= kCharacters || byte_map().byte[character] < 0) return std::nullopt;
    bytes += static_cast<char>(byte_map().byte[character]);
    at += length;
  }
  return bytes;
}

}  // namespace kc
