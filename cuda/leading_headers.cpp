#include "cuda/leading_headers.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "cuda/directives.h"
#include "cuda/header_files.h"
#include "cuda/source_check.h"

namespace kc {

struct LeadingHeaders::Impl {
  explicit Impl(std::vector<std::filesystem::path> folders) : files(std::move(folders)) {}
  HeaderFiles files;
};

namespace {

// A candidate's head beyond these is not read on.
constexpr std::size_t kMostHeaders = 16;
constexpr std::size_t kMostNames = 256;
constexpr std::size_t kMostBytes = std::size_t{64} << 10;

template <class F>
void for_each_line(std::string_view text, const F& use) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (!use(at, text.substr(at, end - at))) return;
    at = end + 1;
  }
}

// "constexpr int N = 16;": the name; nothing for any other code.
std::optional<std::string_view> constant_in(std::string_view line) {
  constexpr std::string_view kTypes[] = {"static", "constexpr", "const", "unsigned", "signed", "long",
                                         "short",  "int",       "float", "double",   "bool",   "char"};
  const auto is_type = [&](std::string_view word) {
    return std::find(std::begin(kTypes), std::end(kTypes), word) != std::end(kTypes);
  };
  std::string_view word = take_word(line);
  bool is_constant = false;
  int types = 0;
  for (; is_type(word); word = take_word(line), ++types) is_constant = is_constant || word.starts_with("const");
  if (!is_constant || types < 2 || word.empty() || !line.starts_with('=')) return std::nullopt;
  line = trim(line.substr(1));
  if (line.starts_with('-')) line = trim(line.substr(1));
  if (line.empty() || std::isdigit(static_cast<unsigned char>(line[0])) == 0) return std::nullopt;
  const auto end = std::find_if_not(line.begin(), line.end(), [](char c) { return is_word(c) || c == '.'; });
  return trim(line.substr(static_cast<std::size_t>(end - line.begin()))) == ";" ? std::optional(word) : std::nullopt;
}

// Reads a unit line by line as far as headers may be taken out of it.
class Reading {
 public:
  using Accepts = std::function<bool(const std::string& header, const std::vector<std::string>& names)>;
  explicit Reading(Accepts accepts) : accepts_(std::move(accepts)) {}

  void ours(std::string_view line) {
    if (const auto directive = directive_of(line)) note_macro(*directive);
  }

  // False: nothing behind this line may be taken.
  bool line(std::string_view line) {
    const auto directive = directive_of(line);
    if (!directive) return code(trim(line));
    const std::string_view word = directive->word;
    if (note_macro(*directive) || word.empty() || word == "line") return true;
    if (word == "include" && conditionals_ == 0) return header(directive->rest);
    if (word == "pragma") return directive->rest == "once";
    if (word.starts_with("if")) ++conditionals_;
    if (word.starts_with("if") || word.starts_with("elif")) note_condition(directive->rest);
    const bool is_known = conditionals_ > 0 && word != "include" && word != "include_next";
    if (word == "endif") --conditionals_;
    return is_known;
  }

  std::string headers() && { return std::move(headers_); }

 private:
  bool note_macro(const Directive& directive) {
    if (directive.word != "define" && directive.word != "undef") return false;
    std::string_view rest = directive.rest;
    names_.emplace_back(take_word(rest));
    for_each_word(rest, [&](std::string_view word) { bodies_.emplace_back(word); });
    return true;
  }

  // What a header defines may decide it.
  void note_condition(std::string_view condition) {
    for_each_word(condition, [&](std::string_view word) {
      if (word != "defined") names_.emplace_back(word);
    });
    names_.insert(names_.end(), bodies_.begin(), bodies_.end());
    bodies_.clear();
  }

  bool code(std::string_view text) {
    if (text.empty()) return true;
    const auto constant = constant_in(text);
    if (!constant) return false;
    // A macro of one of these words would be code of any kind.
    bool is_plain = true;
    for_each_word(text, [&](std::string_view word) {
      is_plain = is_plain && std::find(names_.begin(), names_.end(), word) == names_.end();
    });
    names_.emplace_back(*constant);
    return is_plain;
  }

  bool header(std::string_view rest) {
    const auto name = file_between(rest, '<', '>');
    if (!name || names_.size() > kMostNames || ++count_ > kMostHeaders || !accepts_(*name, names_)) return false;
    headers_ += "#include <" + *name + ">\n";
    return true;
  }

  Accepts accepts_;
  int conditionals_ = 0;
  std::size_t count_ = 0;
  std::vector<std::string> names_;   // that were defined or asked for
  std::vector<std::string> bodies_;  // words in the macros
  std::string headers_;
};

// Whether all that stands on the line, from its first code on, is what it looks like: comments that go on in the next
// one would take that along, and what begins a character or a raw string is told from a number by the compiler alone.
bool is_plain_line(std::string_view code, std::string_view whole) {
  const std::size_t first = code.size() - trim_front(code).size();
  const std::string_view rest = whole.substr(first, whole.find("//", first) - first);
  return trim(code).empty() ||
         (rest.find("/*") == std::string_view::npos && rest.find('\'') == std::string_view::npos &&
          rest.find("R\"") == std::string_view::npos);
}

// The lines that are read: up to one that goes on behind its end, or might (a trigraph), where words and comments are
// not what they look like.
std::string_view head_of(std::string_view unit, std::size_t source_begin) {
  const std::size_t end =
      std::min({unit.size(), source_begin + kMostBytes, unit.find('\\', source_begin), unit.find("??", source_begin)});
  return end == unit.size() ? unit : unit.substr(0, unit.rfind('\n', end) + 1);
}

}  // namespace

LeadingHeaders::LeadingHeaders(std::vector<std::filesystem::path> folders)
    : impl_(std::make_unique<Impl>(std::move(folders))) {}
LeadingHeaders::~LeadingHeaders() = default;

std::string LeadingHeaders::of(std::string_view unit, std::size_t source_begin) {
  source_begin = std::min(source_begin, unit.size());
  const std::string_view head = head_of(unit, source_begin);
  if (head.size() <= source_begin || head.find("include", source_begin) == std::string_view::npos) return {};
  Reading reading([&](const std::string& name, const std::vector<std::string>& names) {
    return impl_->files.is_independent(name, names);
  });
  for_each_line(code_in_place(head), [&](std::size_t at, std::string_view line) {
    if (at >= source_begin) return is_plain_line(line, head.substr(at, line.size())) && reading.line(line);
    reading.ours(line);
    return true;
  });
  return std::move(reading).headers();
}

}  // namespace kc
