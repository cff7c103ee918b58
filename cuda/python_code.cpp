#include "cuda/python_code.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace kc {
namespace {

constexpr std::size_t kLongestCall = 1000;  // of methods that change little, `.strip()`: what bounds the work
constexpr std::size_t kLongestName = 200;
// "" is a pair of brackets. Other calls may do anything to their text; most ask for its length, hash or name.
constexpr std::array<std::string_view, 6> kKeepers = {"", "return", "dedent", "cleandoc", "indent", "str"};

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\\'; }

std::string blanked(std::string_view source, const std::vector<PythonText>& literals) {
  std::string code(source);
  const auto blank = [&code](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) code[i] = code[i] == '\n' ? '\n' : ' ';
  };
  for (const PythonText& literal : literals) blank(literal.begin, literal.end);
  for (std::size_t at = code.find('#'); at != std::string::npos; at = code.find('#', at)) {
    blank(at, std::min(code.find('\n', at), code.size()));
  }
  return code;
}

bool builds(std::string_view callee) {
  if (callee.ends_with(".join")) return !callee.ends_with("path.join");
  return last_word_of(callee) == "Template";
}

bool keeps(std::string_view callee) {
  return !callee.starts_with('.') && std::ranges::find(kKeepers, last_word_of(callee)) != kKeepers.end();
}

}  // namespace

bool is_python_word(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::string_view last_word_of(std::string_view name) { return name.substr(name.rfind('.') + 1); }  // npos + 1 is 0

PythonCode::PythonCode(std::string_view source, const std::vector<PythonText>& literals)
    : code_(blanked(source, literals)), around_(code_.size()), keeps_(code_.size()) {
  std::vector<Around> inner = {{}};
  for (std::size_t i = 0; i < code_.size(); ++i) {
    const char c = code_[i];
    if ((c == ')' || c == ']' || c == '}') && inner.size() > 1) inner.pop_back();
    around_[i] = inner.back();
    if (c != '(' && c != '[' && c != '{') continue;
    const std::size_t end = back_over_blanks(i), begin = c == '(' ? back_over_name(end) : end;
    const std::string_view callee = word(begin, end);
    if (begin < end) callees_.emplace(i, std::pair(begin, end));
    keeps_[i] = c == '(' && keeps(callee);
    inner.push_back({i, builds(callee) ? i : inner.back().builder});
  }
}

std::ptrdiff_t PythonCode::line_of(std::size_t at) const {
  return 1 + std::count(code_.begin(), code_.begin() + static_cast<std::ptrdiff_t>(at), '\n');
}

std::size_t PythonCode::behind_brackets(std::size_t open) const {
  int depth = 0;
  for (std::size_t i = open; i < std::min(code_.size(), open + kLongestCall); ++i) {
    if (code_[i] == '(') ++depth;
    if (code_[i] == ')' && --depth == 0) return i + 1;
  }
  return code_.size();
}

std::size_t PythonCode::skip_blanks(std::size_t at) const {
  while (at < code_.size() && is_blank(code_[at])) ++at;
  return at;
}

std::size_t PythonCode::skip_blanks_inside(std::size_t at) const {
  while (at < code_.size() && is_blank(code_[at]) && (code_[at] != '\n' || around_[at].bracket != kNone)) ++at;
  return at;
}

std::size_t PythonCode::end_of_word(std::size_t at) const {
  while (at < code_.size() && is_python_word(code_[at])) ++at;
  return at;
}

std::size_t PythonCode::back_over_blanks(std::size_t at) const {
  while (at > 0 && is_blank(code_[at - 1])) --at;
  return at;
}

std::size_t PythonCode::back_over_word(std::size_t at) const {
  const std::size_t first = at - std::min(at, kLongestName);
  while (at > first && is_python_word(code_[at - 1])) --at;
  return at;
}

std::size_t PythonCode::back_over_name(std::size_t at) const {
  const std::size_t first = at - std::min(at, kLongestName);
  while (at > first && (is_python_word(code_[at - 1]) || code_[at - 1] == '.')) --at;
  return at;
}

std::size_t PythonCode::back_over_calls(std::size_t at, bool all) const {
  at = back_over_blanks(at);
  while (at > 0 && code_[at - 1] == '(' && (all || keeps_text(at - 1))) {
    at = back_over_blanks(at - 1);
    const std::size_t begin = back_over_name(at);
    if (word(begin, at) == "return") break;
    at = back_over_blanks(begin);
  }
  return at;
}

std::string PythonCode::assigned_at(std::size_t at) const {
  if (at == 0 || code_[at - 1] != '=') return "";
  const std::size_t start = code_.rfind('\n', at - 1) + 1;  // npos + 1 is the text's start
  std::string_view target = std::string_view(code_).substr(start, at - 1 - start);
  target = target.substr(std::min(target.find_last_of(",;(") + 1, target.size()));
  target = target.substr(0, target.find_first_of(":+"));
  std::size_t end = target.size();
  while (end > 0 && !is_python_word(target[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_python_word(target[begin - 1])) --begin;
  return std::string(target.substr(begin, end - begin));
}

}  // namespace kc
