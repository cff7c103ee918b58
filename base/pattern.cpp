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

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

struct Pattern::Impl {
  std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code{nullptr, pcre2_code_free};

  std::optional<std::size_t> match(std::string_view text, std::uint32_t options) const {
    const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
        pcre2_match_data_create_from_pattern(code.get(), nullptr), pcre2_match_data_free);
    const int count = pcre2_match(code.get(), units(text), text.size(), 0, options, data.get(), nullptr);
    if (count == PCRE2_ERROR_NOMATCH) return std::nullopt;
    if (count < 0) throw Error(ErrorKind::internal, "a pattern was not searched to its end: " + message_of(count));
    return pcre2_get_ovector_pointer(data.get())[0];
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

std::optional<std::size_t> Pattern::find(std::string_view text) const { return impl_->match(text, 0); }

bool Pattern::matches(std::string_view text) const {
  return impl_->match(text, PCRE2_ANCHORED | PCRE2_ENDANCHORED).has_value();
}

}  // namespace kc
