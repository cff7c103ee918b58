#pragma once
// Regular expressions on texts of any length: PCRE2's take neither stack for each character, as std::regex's do, nor
// minutes.
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace kc {

class Pattern {
 public:
  // In Perl's syntax, over bytes: letters are ASCII's. Error{internal} when it is none.
  explicit Pattern(std::string_view expression);
  ~Pattern();
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;

  // Where the first match begins. Several threads may ask at once.
  std::optional<std::size_t> find(std::string_view text) const;
  // Whether it matches all of the text. Error{internal}, as of find, when that takes more steps than PCRE2 allows.
  bool matches(std::string_view text) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kc
