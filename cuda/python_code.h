#pragma once
// Finding one's way in the code of a Python file, without its literals and comments: what python_building stands on.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cuda/extract.h"

namespace kc {

class PythonCode {
 public:
  static constexpr std::size_t kNone = std::string::npos;

  // `literals`: all of the source's.
  PythonCode(std::string_view source, const std::vector<PythonText>& literals);

  // Literals and comments are blanks, everything is at its place.
  const std::string& text() const { return code_; }
  std::string_view word(std::size_t begin, std::size_t end) const {
    return std::string_view(code_).substr(begin, end - begin);
  }
  std::ptrdiff_t line_of(std::size_t at) const;

  // The innermost bracket that is open around `at`; of a bracket that of what stands around it.
  std::size_t bracket_of(std::size_t at) const { return at < around_.size() ? around_[at].bracket : kNone; }
  // The innermost of a call that makes one text of all that stands in it, such as `.join(`.
  std::size_t builder_of(std::size_t at) const { return at < around_.size() ? around_[at].builder : kNone; }
  // "torch.empty" of `torch.empty(`; of a literal's method only what stands behind the literal.
  std::string_view callee_of(std::size_t open) const {
    const auto found = callees_.find(open);
    return found == callees_.end() ? "" : word(found->second.first, found->second.second);
  }
  // Whether the bracket holds a text that goes on as it is, apart from blanks: `(`, `textwrap.dedent(`.
  bool keeps_text(std::size_t open) const { return open < keeps_.size() && keeps_[open]; }
  // Behind the bracket that closes `open`; the end of the text when that is far.
  std::size_t behind_brackets(std::size_t open) const;

  std::size_t skip_blanks(std::size_t at) const;
  // Stops at the end of a statement.
  std::size_t skip_blanks_inside(std::size_t at) const;
  std::size_t end_of_word(std::size_t at) const;
  std::size_t back_over_blanks(std::size_t at) const;
  std::size_t back_over_word(std::size_t at) const;
  // Over "self.name" too.
  std::size_t back_over_name(std::size_t at) const;
  // Over the calls that `at` is the first argument of, with blanks: all, or those that keep_text.
  std::size_t back_over_calls(std::size_t at, bool all) const;

  // The last word of what is assigned to, where '=' stands in front of `at`.
  std::string assigned_at(std::size_t at) const;

 private:
  struct Around {
    std::size_t bracket = kNone;
    std::size_t builder = kNone;
  };

  std::string code_;
  std::vector<Around> around_;  // of each place
  std::vector<bool> keeps_;
  std::map<std::size_t, std::pair<std::size_t, std::size_t>> callees_;  // where they stand, by bracket
};

bool is_python_word(char c);
std::string_view last_word_of(std::string_view name);

}  // namespace kc
