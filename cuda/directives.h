#pragma once
// Words and preprocessor lines of device code whose comments are blank (code_in_place).
#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>

namespace kc {

inline bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

inline constexpr std::string_view kBlanks = " \t\r\v\f";

inline std::string_view trim_front(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kBlanks), text.size()));
}

inline std::string_view trim(std::string_view text) {
  text = trim_front(text);
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

// Takes the word at the head of `rest` away.
inline std::string_view take_word(std::string_view& rest) {
  const auto end = std::find_if_not(rest.begin(), rest.end(), is_word);
  const std::string_view word = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  rest = trim(rest.substr(word.size()));
  return word;
}

struct Directive {
  std::string_view word, rest;
};

inline std::optional<Directive> directive_of(std::string_view line) {
  std::string_view rest = trim(line);
  if (!rest.starts_with('#')) return std::nullopt;
  rest = trim(rest.substr(1));
  const std::string_view word = take_word(rest);
  return Directive{word, rest};
}

// The file between these two characters, when nothing follows it.
inline std::optional<std::string> file_between(std::string_view text, char open, char close) {
  if (text.size() < 3 || text.front() != open || text.find(close, 1) != text.size() - 1) return std::nullopt;
  return std::string(text.substr(1, text.size() - 2));
}

// Words that are no numbers.
template <class F>
void for_each_word(std::string_view code, const F& use) {
  for (std::size_t at = 0; at < code.size();) {
    if (!is_word(code[at])) {
      ++at;
      continue;
    }
    const auto end = std::find_if_not(code.begin() + static_cast<std::ptrdiff_t>(at), code.end(), is_word);
    const std::string_view word = code.substr(at, static_cast<std::size_t>(end - code.begin()) - at);
    if (std::isdigit(static_cast<unsigned char>(word[0])) == 0) use(word);
    at += word.size();
  }
}

}  // namespace kc
