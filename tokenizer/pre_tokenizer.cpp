#include "tokenizer/pre_tokenizer.h"

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include <fmt/format.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"
#include "tokenizer/character_symbols.h"

namespace kc {

const std::string_view kO200kPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

// The same over the symbols of character_symbols.h.
std::string symbol_pattern() {
  using fmt::arg;
  constexpr const char* kLetter = "A-Za-z\\x80-\\x82\\x87";
  constexpr const char* kNumber = "0-9\\x84";
  constexpr const char* kSpace = "\\x09-\\x0D\\x20\\x85";
  const std::string prefix = fmt::format("[^\\r\\n{}{}]?", kLetter, kNumber);
  const std::string contraction = "(?i:'s|'\\x87|'t|'re|'ve|'m|'ll|'d)?";
  return fmt::format(
      "{prefix}{upper}*{lower}+{contraction}"
      "|{prefix}{upper}+{lower}*{contraction}"
      "|[{number}]{{1,3}}| ?[^{space}{letter}{number}]+[\\r\\n/]*"
      "|[{space}]*[\\r\\n]+|[{space}]+(?![^{space}])|[{space}]+",
      arg("prefix", prefix), arg("contraction", contraction), arg("upper", "[A-Z\\x80\\x82\\x83]"),
      arg("lower", "[a-z\\x81\\x82\\x83\\x87]"), arg("letter", kLetter), arg("number", kNumber), arg("space", kSpace));
}

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 200> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

struct MatchData {
  explicit MatchData(const pcre2_code* code) : data(pcre2_match_data_create_from_pattern(code, nullptr)) {}
  ~MatchData() { pcre2_match_data_free(data); }
  MatchData(const MatchData&) = delete;
  MatchData& operator=(const MatchData&) = delete;

  pcre2_match_data* data;
};

}  // namespace

struct PreTokenizer::Impl {
  pcre2_code* code = nullptr;
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  bool jit = false;

  Impl() {
    // Of the interpreter only: the pattern's backtracking is bounded by the length of the text.
    pcre2_set_match_limit(context, std::numeric_limits<std::uint32_t>::max());
    pcre2_set_depth_limit(context, std::numeric_limits<std::uint32_t>::max());
    pcre2_set_heap_limit(context, std::numeric_limits<std::uint32_t>::max());
  }
  ~Impl() {
    pcre2_code_free(code);
    pcre2_match_context_free(context);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // The end of the piece that starts at `from`. Every symbol is in one of the alternatives, so there always is one.
  std::size_t end_of_piece(std::string_view symbols, std::size_t from, MatchData& match) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(symbols.data());
    const int count = jit ? pcre2_jit_match(code, subject, symbols.size(), from, 0, match.data, context)
                          : pcre2_match(code, subject, symbols.size(), from, 0, match.data, context);
    const std::size_t end = count < 0 ? from : pcre2_get_ovector_pointer(match.data)[1];
    if (end <= from)
      throw Error(ErrorKind::internal,
                  fmt::format("split pattern: no piece at character {}: {}", from, message_of(count)));
    return end;
  }
};

PreTokenizer::PreTokenizer() : impl_(std::make_unique<Impl>()) {
  int fault = 0;
  std::size_t offset = 0;
  const std::string pattern = symbol_pattern();
  impl_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_ANCHORED | PCRE2_NO_AUTO_CAPTURE, &fault, &offset, nullptr);
  if (impl_->code == nullptr)
    throw Error(ErrorKind::environment,
                fmt::format("PCRE2 refuses the split pattern at byte {}: {}", offset, message_of(fault)));
  impl_->jit = pcre2_jit_compile(impl_->code, PCRE2_JIT_COMPLETE) == 0;  // else interpreted: slower, the same pieces
}

PreTokenizer::~PreTokenizer() = default;

void PreTokenizer::split(std::string_view text, const std::function<void(std::string_view)>& visit) const {
  MatchData match(impl_->code);
  if (is_ascii(text)) {
    for (std::size_t from = 0; from < text.size();) {
      const std::size_t end = impl_->end_of_piece(text, from, match);
      visit(text.substr(from, end - from));
      from = end;
    }
    return;
  }
  const std::string symbols = symbols_of(text);
  std::size_t at = 0;
  for (std::size_t from = 0; from < symbols.size();) {
    const std::size_t end = impl_->end_of_piece(symbols, from, match);
    const std::size_t bytes = bytes_of_symbols(std::string_view(symbols).substr(from, end - from), text, at);
    visit(text.substr(at, bytes));
    at += bytes;
    from = end;
  }
}

}  // namespace kc
