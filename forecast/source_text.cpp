#include "forecast/source_text.h"

#include <algorithm>
#include <cctype>

namespace kc {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

class Scanner {
 public:
  Scanner(std::string_view source, bool python) : source_(source), python_(python) {}

  void scan(const std::function<void(SegmentKind, std::string_view)>& visit) {
    std::size_t code_begin = 0, at = 0;
    while (at < source_.size()) {
      SegmentKind kind = SegmentKind::code;
      const std::size_t end = special_end(at, kind);
      if (kind == SegmentKind::code) {
        ++at;
        continue;
      }
      if (at > code_begin) visit(SegmentKind::code, source_.substr(code_begin, at - code_begin));
      visit(kind, source_.substr(at, end - at));
      code_begin = at = end;
    }
    if (at > code_begin) visit(SegmentKind::code, source_.substr(code_begin));
  }

 private:
  bool starts(std::size_t at, std::string_view what) const { return source_.substr(at, what.size()) == what; }

  std::size_t after(std::size_t at, std::string_view what) const {
    const std::size_t found = source_.find(what, at);
    return found == std::string_view::npos ? source_.size() : found + what.size();
  }

  // The end of the comment or literal that begins at `at`; `kind` stays `code` when none does.
  std::size_t special_end(std::size_t at, SegmentKind& kind) const {
    const char c = source_[at];
    if (python_ ? c == '#' : starts(at, "//")) {
      kind = SegmentKind::comment;
      return line_comment_end(at);
    }
    if (!python_ && starts(at, "/*")) {
      kind = SegmentKind::comment;
      return after(at + 2, "*/");
    }
    if (c != '"' && c != '\'') return at;
    if (c == '\'' && !python_ && is_digit_separator(at)) return at;
    kind = SegmentKind::literal;
    if (python_ && (starts(at, "\"\"\"") || starts(at, "'''"))) return after(at + 3, source_.substr(at, 3));
    if (!python_ && c == '"' && is_raw(at)) return raw_end(at);
    return quoted_end(at);
  }

  std::size_t line_comment_end(std::size_t at) const {
    for (;;) {
      const std::size_t newline = source_.find('\n', at);
      if (newline == std::string_view::npos) return source_.size();
      if (python_ || newline == 0 || source_[newline - 1] != '\\') return newline;
      at = newline + 1;
    }
  }

  std::size_t quoted_end(std::size_t at) const {
    const char quote = source_[at];
    for (std::size_t i = at + 1; i < source_.size(); ++i) {
      if (source_[i] == '\\') {
        ++i;
      } else if (source_[i] == quote) {
        return i + 1;
      } else if (source_[i] == '\n') {
        return i;
      }
    }
    return source_.size();
  }

  // The identifier or number that ends right before `at`.
  std::string_view word_before(std::size_t at) const {
    std::size_t begin = at;
    while (begin > 0 && is_word(source_[begin - 1])) --begin;
    return source_.substr(begin, at - begin);
  }

  bool is_digit_separator(std::size_t at) const {
    const std::string_view word = word_before(at);
    return !word.empty() && word != "u" && word != "U" && word != "L" && word != "u8";
  }

  bool is_raw(std::size_t at) const {
    const std::string_view word = word_before(at);
    return word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R";
  }

  std::size_t raw_end(std::size_t at) const {
    const std::size_t open = source_.find('(', at);
    if (open == std::string_view::npos || open - at > 17) return quoted_end(at);
    std::string close(")");
    close.append(source_.substr(at + 1, open - at - 1)).append("\"");
    return after(open + 1, close);
  }

  std::string_view source_;
  bool python_;
};

}  // namespace

void for_each_segment(std::string_view source, std::string_view language,
                      const std::function<void(SegmentKind, std::string_view)>& visit) {
  Scanner(source, language.substr(0, 6) == "python").scan(visit);
}

std::vector<std::string> code_lines(std::string_view source, std::string_view language) {
  std::vector<std::string> lines;
  std::string line;
  const auto end_line = [&] {
    while (!line.empty() && line.back() == ' ') line.pop_back();
    if (!line.empty()) lines.push_back(line);
    line.clear();
  };
  const auto add = [&](SegmentKind kind, char c) {
    if (c == '\n') {
      end_line();
    } else if (kind == SegmentKind::literal || !is_blank(c)) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  };
  for_each_segment(source, language, [&](SegmentKind kind, std::string_view text) {
    if (kind == SegmentKind::comment) {
      add(SegmentKind::code, ' ');
      return;
    }
    for (const char c : text) add(kind, c);
  });
  end_line();
  return lines;
}

}  // namespace kc
