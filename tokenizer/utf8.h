#pragma once
#include <cstddef>
#include <string_view>

namespace kc {

// Bytes of the well-formed UTF-8 character at `at` (no overlong forms, surrogates or values past U+10FFFF); 0 when
// there is none.
std::size_t utf8_length(std::string_view text, std::size_t at);

// Bytes at the end of `text` that begin a well-formed character whose other bytes are not there yet: 0 to 3.
std::size_t utf8_unfinished(std::string_view text);

// Whether SentencePiece gives this one character back unchanged: not a control character (but a tab), and not one of
// the two that it uses for itself.
bool sentence_character(std::string_view character);

}  // namespace kc
