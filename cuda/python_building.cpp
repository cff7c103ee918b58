#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/pattern.h"
#include "cuda/extract.h"
#include "cuda/python_code.h"
#include "cuda/python_writers.h"

namespace kc {
namespace {

constexpr int kMostCalls = 8;   // of methods behind a text
constexpr int kMostRounds = 8;  // in which variables take texts of others that stand behind them in the file
constexpr std::size_t kNone = PythonCode::kNone;
constexpr std::array<std::string_view, 6> kBuilders = {"format",    "format_map", "replace",
                                                       "translate", "substitute", "safe_substitute"};
constexpr std::array<std::string_view, 7> kKeepingMethods = {"strip",  "lstrip", "rstrip",  "expandtabs",
                                                             "encode", "decode", "getvalue"};
constexpr std::array<std::string_view, 5> kTelling = {"print", "debug", "info", "warning", "error"};

bool is_one_of(const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

class Builders {
 public:
  explicit Builders(const PythonCode& code) : code_(code), text_(code.text()), writers_(code) {}

  // How the literal goes into another text; else notes the variables that hold it.
  std::optional<std::string> at_literal(const PythonText& literal) {
    if (literal.is_format) return fmt::format("an f-string in line {}", literal.line);
    if (auto found = behind(literal.end, true)) return found;
    if (auto found = around(literal.begin, true)) return found;
    if (auto found = filled_in(literal.begin, literal.end)) return found;
    const std::size_t bracket = code_.bracket_of(literal.begin);
    if (auto found = written(bracket, false)) return found;
    note(code_.assigned_at(code_.back_over_calls(literal.begin, true)));
    if (brackets_.insert(bracket).second) note(list_of(bracket));
    return std::nullopt;
  }

  // The same of all uses of the variables that have been noted, and of those that they are assigned to.
  std::optional<std::string> at_uses() {
    std::size_t known = 0;
    for (int round = 0; round < kMostRounds && known != names_.size(); ++round) {
      known = names_.size();
      for (std::size_t at = 0; at < text_.size();) {
        const std::size_t end = code_.end_of_word(at);
        if (end > at && names_.contains(code_.word(at, end))) {
          if (auto found = at_use(at, end)) return found;
        }
        at = std::max(end, at + 1);
      }
    }
    return std::nullopt;
  }

  // What shows texts to a reader makes none of them a kernel: messages and errors.
  std::optional<std::string> in_format(const PythonText& literal) const {
    static const Pattern value(
        R"(\{\s*+(?:(?:\w++\.){0,3}(?:dedent|cleandoc|indent|str)\s*+\(\s*+){0,3}((?:\w++\.?+){1,9})[\s.()\w]*+[}!:])");
    if (is_told(literal.begin)) return std::nullopt;
    for (auto match = value.match(literal.text); match; match = value.match(literal.text, match->end)) {
      for (std::string_view rest = match->groups[1]; !rest.empty();) {
        const std::size_t dot = std::min(rest.find('.'), rest.size());
        if (names_.contains(rest.substr(0, dot))) return fmt::format("an f-string in line {}", literal.line);
        rest.remove_prefix(std::min(dot + 1, rest.size()));
      }
    }
    return std::nullopt;
  }

 private:
  void note(std::string name) {
    if (!name.empty()) names_.insert(std::move(name));
  }

  std::optional<std::string> at_use(std::size_t begin, std::size_t end) {
    if (auto found = behind(end, false)) return found;
    const std::size_t name = code_.back_over_name(begin);
    if (auto found = around(name, false)) return found;
    if (auto found = filled_in(name, end)) return found;
    const bool is_part = parts_.contains(code_.word(begin, end));
    if (auto found = written(code_.bracket_of(begin), is_part)) return found;
    const std::size_t front = code_.back_over_calls(name, false);
    if (is_whole(end) && front > 0 && code_.bracket_of(front - 1) == kNone) note(code_.assigned_at(front));
    note_loop(front);
    return std::nullopt;
  }

  // What is done to the value that ends at `at`. Behind a literal brackets may close, those of `f('''...''')`.
  std::optional<std::string> behind(std::size_t at, bool skips_brackets) const {
    for (int calls = 0; calls < kMostCalls; ++calls) {
      at = skip_brackets(code_.skip_blanks(at), skips_brackets);
      if (at >= text_.size()) return std::nullopt;
      if (text_[at] == '%' || text_[at] == '+') return operator_at(at);
      if (text_[at] != '.') return std::nullopt;
      const std::size_t name = code_.skip_blanks(at + 1);
      const std::size_t end = code_.end_of_word(name);
      const std::string_view method = code_.word(name, end);
      if (is_one_of(kBuilders, method)) return fmt::format(".{}(...) in line {}", method, code_.line_of(name));
      const std::size_t open = code_.skip_blanks(end);
      if (method.empty() || open >= text_.size() || text_[open] != '(') return std::nullopt;
      at = code_.behind_brackets(open);
    }
    return std::nullopt;
  }

  // Behind what closes the calls around the value that ends in front of `at`: all, or those that keep it.
  std::size_t skip_brackets(std::size_t at, bool all) const {
    while (at > 0 && at < text_.size()) {
      const std::size_t open = code_.bracket_of(at - 1);
      const bool keeps = code_.keeps_text(open);
      if (text_[at] == ')' && (all || keeps)) {
        at = code_.skip_blanks(at + 1);
      } else if (text_[at] == ',' && keeps && !code_.callee_of(open).empty()) {
        at = code_.skip_blanks(code_.behind_brackets(open));
      } else {
        break;
      }
    }
    return at;
  }

  // What takes the text that begins at `at`, a literal or a variable: an operator in front of it, or a call.
  std::optional<std::string> around(std::size_t at, bool skips_calls) const {
    std::size_t front = code_.back_over_calls(at, skips_calls);
    if (front > 1 && text_[front - 1] == '=' && text_[front - 2] == '+') --front;
    if (front > 0 && text_[front - 1] == '+') return operator_at(front - 1);
    const std::size_t open = code_.builder_of(at);
    if (open == kNone) return std::nullopt;
    const bool joins = code_.callee_of(open).ends_with("join");
    return fmt::format("{}(...) in line {}", joins ? ".join" : "Template", code_.line_of(open));
  }

  // `'%s%s' % (head, text)`, `'{}{}'.format(head, text)`: another text that takes the one between `begin` and `end`.
  std::optional<std::string> filled_in(std::size_t begin, std::size_t end) {
    const std::size_t next = code_.skip_blanks(end);
    const bool is_all = next >= text_.size() || std::string_view(",)]};").find(text_[next]) != std::string_view::npos ||
                        code_.word(end, next).find('\n') != std::string_view::npos;
    const bool is_kept =
        !is_all && text_[next] == '.' && is_one_of(kKeepingMethods, code_.word(next + 1, code_.end_of_word(next + 1)));
    if (!is_all && !is_kept) return std::nullopt;
    const std::size_t front = code_.back_over_calls(begin, false);
    if (front > 0 && text_[front - 1] == '%') return operator_unless_told(front - 1);
    const std::size_t bracket = code_.bracket_of(front);
    if (bracket == kNone) return std::nullopt;
    if (is_one_of(kBuilders, last_word_of(code_.callee_of(bracket))) && !is_told(bracket)) {
      return fmt::format(".{}(...) in line {}", last_word_of(code_.callee_of(bracket)), code_.line_of(bracket));
    }
    if (!code_.callee_of(bracket).empty()) return std::nullopt;
    const auto [entry, is_new] = in_front_.try_emplace(bracket);
    if (is_new) entry->second = code_.back_over_blanks(bracket);
    const std::size_t before = entry->second;
    return before > 0 && text_[before - 1] == '%' ? operator_unless_told(before - 1) : std::nullopt;
  }

  std::optional<std::string> operator_unless_told(std::size_t at) const {
    if (is_told(at)) return std::nullopt;
    return operator_at(at);
  }

  // Whether it is an argument of what shows it to a reader.
  bool is_told(std::size_t at) const {
    const std::size_t bracket = code_.bracket_of(at);
    const std::string_view callee = bracket == kNone ? "" : code_.callee_of(bracket);
    return is_one_of(kTelling, last_word_of(callee)) || callee.ends_with("Error");
  }

  std::optional<std::string> written(std::size_t bracket, bool is_part) {
    const PythonWriters::Written result = writers_.written_at(bracket, is_part);
    note(result.buffer);
    if (!result.other_part) return std::nullopt;
    return fmt::format("{}(...) in line {}", last_word_of(code_.callee_of(*result.other_part)),
                       code_.line_of(*result.other_part));
  }

  // Whether nothing but what keeps a text stands between the value that ends at `at` and the statement's end.
  bool is_whole(std::size_t at) const {
    for (int calls = 0; calls < kMostCalls; ++calls) {
      at = code_.skip_blanks_inside(at);
      while (at < text_.size() && text_[at] == ')' && code_.keeps_text(code_.bracket_of(at - 1)))
        at = code_.skip_blanks_inside(at + 1);
      if (at >= text_.size() || text_[at] == '\n' || text_[at] == ';') return true;
      if (text_[at] != '.') return false;
      const std::size_t end = code_.end_of_word(at + 1);
      if (!is_one_of(kKeepingMethods, code_.word(at + 1, end)) || end >= text_.size() || text_[end] != '(')
        return false;
      at = code_.behind_brackets(end);
    }
    return false;
  }

  // `for part in texts`, where `texts` begins behind `front`.
  void note_loop(std::size_t front) {
    const std::size_t in = code_.back_over_word(front);
    if (code_.word(in, front) != "in") return;
    const std::size_t end = code_.back_over_blanks(in);
    const std::size_t begin = code_.back_over_word(end);
    const std::size_t for_end = code_.back_over_blanks(begin);
    if (code_.word(code_.back_over_word(for_end), for_end) != "for") return;
    parts_.emplace(code_.word(begin, end));
    note(std::string(code_.word(begin, end)));
  }

  // The list that is filled between brackets: `parts = [...]`, `parts.append(...)`.
  std::string list_of(std::size_t open) const {
    if (open == kNone) return "";
    const std::string_view callee = code_.callee_of(open);
    if (callee.empty()) return code_.assigned_at(code_.back_over_blanks(open));
    for (const std::string_view method : {".append", ".extend", ".insert"}) {
      if (callee.ends_with(method)) return std::string(last_word_of(callee.substr(0, callee.size() - method.size())));
    }
    return "";
  }

  std::string operator_at(std::size_t at) const {
    return fmt::format("the operator {} in line {}", text_[at], code_.line_of(at));
  }

  const PythonCode& code_;
  const std::string& text_;
  PythonWriters writers_;
  std::set<std::string, std::less<>> names_;  // of variables that hold a kernel's text, or a list of texts
  std::set<std::string, std::less<>> parts_;  // of those that hold one of a list
  std::set<std::size_t> brackets_;
  std::map<std::size_t, std::size_t> in_front_;  // of brackets: where the blanks before them begin
};

}  // namespace

std::optional<std::string> python_building(std::string_view source, const std::vector<PythonText>& all,
                                           const std::vector<PythonText>& some) {
  const PythonCode code(source, all);
  Builders builders(code);
  for (const PythonText& literal : some) {
    if (auto found = builders.at_literal(literal)) return found;
  }
  if (auto found = builders.at_uses()) return found;
  for (const PythonText& literal : all) {
    if (!literal.is_format) continue;
    if (auto found = builders.in_format(literal)) return found;
  }
  return std::nullopt;
}

}  // namespace kc
