#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "cuda/extract.h"

namespace kc {
namespace {

// Of methods that change little, `.strip()`: what bounds the work.
constexpr std::size_t kLongestCall = 1000;
constexpr int kMostCalls = 8;
constexpr std::size_t kLongestName = 200;
constexpr std::array<std::string_view, 6> kBuilders = {"format",    "format_map", "replace",
                                                       "translate", "substitute", "safe_substitute"};

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\\'; }
bool is_word(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Literals and comments blanked, everything at its place.
std::string code_of(std::string_view source, const std::vector<PythonText>& literals) {
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

class Builders {
 public:
  explicit Builders(std::string code) : code_(std::move(code)), around_(code_.size()) {
    std::vector<Around> inner = {{}};
    for (std::size_t i = 0; i < code_.size(); ++i) {
      const char c = code_[i];
      if ((c == ')' || c == ']' || c == '}') && inner.size() > 1) inner.pop_back();
      around_[i] = inner.back();
      if (c == '(' || c == '[' || c == '{') inner.push_back({i, builds(callee_of(i)) ? i : inner.back().builder});
    }
  }

  // What is done to the value that ends at `at`. Behind a literal brackets may close, those of `dedent('''...''')`.
  std::optional<std::string> behind(std::size_t at, bool skips_brackets) const {
    for (int calls = 0; calls < kMostCalls; ++calls) {
      at = skip_blanks(at);
      while (skips_brackets && at < code_.size() && code_[at] == ')') at = skip_blanks(at + 1);
      if (at >= code_.size()) return std::nullopt;
      if (code_[at] == '%' || code_[at] == '+') return operator_at(at);
      if (code_[at] != '.') return std::nullopt;
      const std::size_t name = skip_blanks(at + 1);
      const std::size_t end = end_of_word(name);
      const std::string_view method = std::string_view(code_).substr(name, end - name);
      if (std::ranges::find(kBuilders, method) != kBuilders.end())
        return fmt::format(".{}(...) in line {}", method, line_of(name));
      const std::size_t open = skip_blanks(end);
      if (method.empty() || open >= code_.size() || code_[open] != '(') return std::nullopt;
      at = behind_brackets(open);
    }
    return std::nullopt;
  }

  // What takes the text that begins at `at`, a literal or a variable: an operator in front of it, or a call.
  std::optional<std::string> around(std::size_t at, bool skips_calls) const {
    std::size_t front = back_over_blanks(at);
    if (skips_calls) front = back_over_calls(front);
    if (front > 1 && code_[front - 1] == '=' && code_[front - 2] == '+') --front;
    if (front > 0 && code_[front - 1] == '+') return operator_at(front - 1);
    const std::size_t open = at < around_.size() ? around_[at].builder : kNone;
    if (open == kNone) return std::nullopt;
    const bool joins = callee_of(open).ends_with("join");
    return fmt::format("{}(...) in line {}", joins ? ".join" : "Template", line_of(open));
  }

  // The innermost bracket that is open around `at`.
  std::size_t bracket_of(std::size_t at) const { return at < around_.size() ? around_[at].bracket : kNone; }

  // The list that is filled between brackets: `parts = [...]`, `parts.append(...)`.
  std::string list_of(std::size_t open) const {
    if (open == kNone) return "";
    const std::string_view callee = callee_of(open);
    if (callee.empty()) return assigned_at(back_over_blanks(open));
    for (const std::string_view method : {".append", ".extend", ".insert"}) {
      if (!callee.ends_with(method)) continue;
      const std::string_view list = callee.substr(0, callee.size() - method.size());
      return std::string(list.substr(list.rfind('.') + 1));  // npos + 1 is the name's start
    }
    return "";
  }

  // The variable that the literal which begins at `at` is assigned to, also through calls: the last word of its name.
  std::string variable_of(std::size_t at) const { return assigned_at(back_over_calls(back_over_blanks(at))); }

  std::optional<std::string> at_uses_of(const std::set<std::string, std::less<>>& names) const {
    for (std::size_t at = 0; at < code_.size();) {
      const std::size_t end = end_of_word(at);
      if (end > at && names.contains(std::string_view(code_).substr(at, end - at))) {
        if (auto found = behind(end, false)) return found;
        if (auto found = around(back_over_name(at), false)) return found;
      }
      at = std::max(end, at + 1);
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kNone = std::string::npos;
  struct Around {
    std::size_t bracket = kNone;  // the innermost that is open
    std::size_t builder = kNone;  // the innermost of a call that makes one text of what stands in it
  };

  static bool builds(std::string_view callee) {
    if (callee.ends_with(".join")) return !callee.ends_with("path.join");
    return callee == "Template" || callee.ends_with(".Template");
  }

  // The last word of what is assigned to, where '=' stands in front of `at`.
  std::string assigned_at(std::size_t at) const {
    if (at == 0 || code_[at - 1] != '=') return "";
    const std::size_t start = code_.rfind('\n', at - 1) + 1;  // npos + 1 is the text's start
    std::string_view target = std::string_view(code_).substr(start, at - 1 - start);
    target = target.substr(std::min(target.find_last_of(",;(") + 1, target.size()));
    target = target.substr(0, target.find_first_of(":+"));
    std::size_t end = target.size();
    while (end > 0 && !is_word(target[end - 1])) --end;
    std::size_t begin = end;
    while (begin > 0 && is_word(target[begin - 1])) --begin;
    return std::string(target.substr(begin, end - begin));
  }

  std::string operator_at(std::size_t at) const {
    return fmt::format("the operator {} in line {}", code_[at], line_of(at));
  }
  // "torch.empty" of `torch.empty(`; of a literal's method only what stands behind the literal.
  std::string_view callee_of(std::size_t open) const {
    const std::size_t end = back_over_blanks(open);
    const std::size_t begin = code_[open] == '(' ? back_over_name(end) : end;
    return std::string_view(code_).substr(begin, end - begin);
  }
  std::size_t skip_blanks(std::size_t at) const {
    while (at < code_.size() && is_blank(code_[at])) ++at;
    return at;
  }
  std::size_t back_over_blanks(std::size_t at) const {
    while (at > 0 && is_blank(code_[at - 1])) --at;
    return at;
  }
  std::size_t back_over_name(std::size_t at) const {
    const std::size_t first = at - std::min(at, kLongestName);
    while (at > first && (is_word(code_[at - 1]) || code_[at - 1] == '.')) --at;
    return at;
  }
  std::size_t back_over_calls(std::size_t at) const {
    while (at > 0 && code_[at - 1] == '(') at = back_over_blanks(back_over_name(back_over_blanks(at - 1)));
    return at;
  }
  std::size_t end_of_word(std::size_t at) const {
    while (at < code_.size() && is_word(code_[at])) ++at;
    return at;
  }
  std::size_t behind_brackets(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < std::min(code_.size(), open + kLongestCall); ++i) {
      if (code_[i] == '(') ++depth;
      if (code_[i] == ')' && --depth == 0) return i + 1;
    }
    return code_.size();
  }
  std::ptrdiff_t line_of(std::size_t at) const {
    return 1 + std::count(code_.begin(), code_.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  }

  std::string code_;
  std::vector<Around> around_;  // of each place
};

}  // namespace

std::optional<std::string> python_building(std::string_view source, const std::vector<PythonText>& all,
                                           const std::vector<PythonText>& some) {
  const Builders builders(code_of(source, all));
  std::set<std::string, std::less<>> names;
  std::set<std::size_t> brackets;
  const auto note = [&names](std::string name) {
    if (!name.empty()) names.insert(std::move(name));
  };
  for (const PythonText& literal : some) {
    if (literal.is_format) return fmt::format("an f-string in line {}", literal.line);
    if (auto found = builders.behind(literal.end, true)) return found;
    if (auto found = builders.around(literal.begin, true)) return found;
    note(builders.variable_of(literal.begin));
    const std::size_t bracket = builders.bracket_of(literal.begin);
    if (brackets.insert(bracket).second) note(builders.list_of(bracket));
  }
  return builders.at_uses_of(names);
}

}  // namespace kc
