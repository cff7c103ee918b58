#pragma once
// The lexical skin of a source text: what is code, what is a comment, what is a literal.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kc {

enum class SegmentKind { code, comment, literal };

// Cuts `source` into maximal segments, in order and without gaps. Languages "python" and "python+cuda" have `#`
// comments and triple-quoted strings; every other name is read as C++ (//, /* */, "...", '...', raw strings, digit
// separators, spliced line comments). Total: an unclosed literal ends with its line (raw and triple-quoted ones, and
// block comments, with the text).
void for_each_segment(std::string_view source, std::string_view language,
                      const std::function<void(SegmentKind kind, std::string_view text)>& visit);

// The lines of `source` without comments, without leading and trailing blanks, runs of blanks outside literals
// collapsed to one space; empty lines are left out.
std::vector<std::string> code_lines(std::string_view source, std::string_view language);

}  // namespace kc
