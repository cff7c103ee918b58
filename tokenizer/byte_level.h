#pragma once
// The byte map of GPT-2's tokenizer.json: each byte as one printable character. 0x21-0x7E, 0xA1-0xAC and 0xAE-0xFF are
// themselves; the other bytes, in ascending order, are U+0100, U+0101, ...
#include <optional>
#include <string>
#include <string_view>

namespace kc {

std::string byte_level_text(std::string_view bytes);
std::optional<std::string> byte_level_bytes(std::string_view text);  // nullopt when a character stands for no byte

}  // namespace kc
