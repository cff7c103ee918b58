#pragma once
// Regular expressions on texts of any length: PCRE2's take neither stack for each character, as std::regex's do, nor
// minutes.
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kc {

struct PatternMatch {
  std::size_t begin = 0, end = 0;
  std::vector<std::string_view> groups;  // of the text; the first is all of the match, one that took no part is empty
};

class Pattern {
 public:
  // In Perl's syntax, over bytes: letters are ASCII's. Error{internal} when it is none.
  explicit Pattern(std::string_view expression);
  ~Pattern();
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;

  // Where the first match begins. Several threads may ask at once.
  std::optional<std::size_t> find(std::string_view text) const;
  // Whether it matches all of the text. Error{internal}, as of the others, when that takes more steps than PCRE2
  // allows.
  bool matches(std::string_view text) const;
  // The first match that begins at `from` or behind it; `^` and `\b` see what stands in front of that.
  std::optional<PatternMatch> match(std::string_view text, std::size_t from = 0) const;
  // The text with `by` in the place of every match, where $1 is the match's first group.
  std::string replaced(std::string_view text, std::string_view by) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kc
