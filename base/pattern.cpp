#include "base/pattern.h"

#include <array>
#include <string>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"

namespace kc {
namespace {

constexpr std::size_t kShown = 100;  // bytes of a pattern in a message

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 200> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

Error not_searched(int code) {
  return Error(ErrorKind::internal, "a pattern was not searched to its end: " + message_of(code));
}

using MatchData = std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)>;

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

struct Pattern::Impl {
  std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code{nullptr, pcre2_code_free};

  // Null when there is none.
  MatchData match(std::string_view text, std::size_t from, std::uint32_t options) const {
    MatchData data(pcre2_match_data_create_from_pattern(code.get(), nullptr), pcre2_match_data_free);
    const int count = pcre2_match(code.get(), units(text), text.size(), from, options, data.get(), nullptr);
    if (count == PCRE2_ERROR_NOMATCH) return {nullptr, pcre2_match_data_free};
    if (count < 0) throw not_searched(count);
    return data;
  }
};

Pattern::Pattern(std::string_view expression) : impl_(std::make_unique<Impl>()) {
  int fault = 0;
  std::size_t offset = 0;
  impl_->code.reset(pcre2_compile(units(expression), expression.size(), 0, &fault, &offset, nullptr));
  if (!impl_->code)
    throw Error(ErrorKind::internal, "PCRE2 refuses the pattern '" + std::string(expression.substr(0, kShown)) +
                                         "' at byte " + std::to_string(offset) + ": " + message_of(fault));
  pcre2_jit_compile(impl_->code.get(), PCRE2_JIT_COMPLETE);  // else interpreted: slower, the same matches
}

Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;

std::optional<std::size_t> Pattern::find(std::string_view text) const {
  const MatchData data = impl_->match(text, 0, 0);
  return data ? std::optional(pcre2_get_ovector_pointer(data.get())[0]) : std::nullopt;
}

bool Pattern::matches(std::string_view text) const {
  return impl_->match(text, 0, PCRE2_ANCHORED | PCRE2_ENDANCHORED) != nullptr;
}

std::optional<PatternMatch> Pattern::match(std::string_view text, std::size_t from) const {
  const MatchData data = impl_->match(text, from, 0);
  if (!data) return std::nullopt;
  const PCRE2_SIZE* places = pcre2_get_ovector_pointer(data.get());
  PatternMatch match{places[0], places[1], {}};
  for (std::uint32_t group = 0; group < pcre2_get_ovector_count(data.get()); ++group) {
    const PCRE2_SIZE begin = places[2 * group], end = places[2 * group + 1];
    match.groups.push_back(begin == PCRE2_UNSET ? std::string_view() : text.substr(begin, end - begin));
  }
  return match;
}

std::string Pattern::replaced(std::string_view text, std::string_view by) const {
  std::string result(text.size() + by.size(), '\0');
  for (;;) {
    PCRE2_SIZE size = result.size();
    const int count =
        pcre2_substitute(impl_->code.get(), units(text), text.size(), 0,
                         PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_UNSET_EMPTY | PCRE2_SUBSTITUTE_OVERFLOW_LENGTH,
                         nullptr, nullptr, units(by), by.size(), reinterpret_cast<PCRE2_UCHAR*>(result.data()), &size);
    if (count < 0 && (count != PCRE2_ERROR_NOMEMORY || size <= result.size())) throw not_searched(count);
    result.resize(size);  // on overflow what it needs, with a closing zero
    if (count >= 0) return result;
  }
}

}  // namespace kc
