// The split pattern over our classes, against the published pattern over PCRE2's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <memory>

#include "base/rng.h"
#include "tokenizer/character_symbols.h"
#include "tokenizer/pre_tokenizer.h"

namespace kc {
namespace {

std::vector<std::string> pieces(std::string_view text) {
  static const PreTokenizer pre_tokenizer;
  std::vector<std::string> found;
  pre_tokenizer.split(text, [&](std::string_view piece) { found.emplace_back(piece); });
  return found;
}

std::vector<std::string> pieces_by_pcre2(const std::string& text) {
  int fault = 0;
  std::size_t offset = 0;
  static pcre2_code* const code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kO200kPattern.data()),
                                                kO200kPattern.size(), PCRE2_UTF | PCRE2_UCP, &fault, &offset, nullptr);
  static pcre2_match_data* const match = pcre2_match_data_create_from_pattern(code, nullptr);
  std::vector<std::string> found;
  for (std::size_t at = 0; at < text.size();) {
    if (pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at, 0, match, nullptr) < 0) break;
    const std::size_t* span = pcre2_get_ovector_pointer(match);
    found.push_back(text.substr(span[0], span[1] - span[0]));
    at = span[1];
  }
  return found;
}

using Pieces = std::vector<std::string>;

TEST(PreTokenizer, CutsAsThePatternSays) {
  EXPECT_EQ(pieces("Hello, wORLD's 12345 x"), (Pieces{"Hello", ",", " w", "ORLD's", " ", "123", "45", " x"}));
  EXPECT_EQ(pieces("a  b\n\n  c"), (Pieces{"a", " ", " b", "\n\n", " ", " c"}));
  EXPECT_EQ(pieces("x();//\n\ny"), (Pieces{"x", "();//\n\n", "y"}));
  EXPECT_EQ(pieces("we'll WE'LL we\u2019ll it'\u017F"), (Pieces{"we'll", " WE'LL", " we", "\u2019ll", " it'\u017F"}));
  EXPECT_EQ(pieces("e\u0301t\u00E9 \u0301a"), (Pieces{"e\u0301t\u00E9", " \u0301a"}));
  EXPECT_EQ(pieces("a\u00A0\u3000b"), (Pieces{"a", "\u00A0", "\u3000b"}));
  EXPECT_EQ(pieces("\u180Ea\u200Bb"), (Pieces{"\u180Ea", "\u200Bb"}));  // neither is White_Space
  EXPECT_EQ(pieces(""), Pieces{});
}

TEST(PreTokenizer, KnowsUnicode16) {
  EXPECT_EQ(symbol_of(0x10D50), symbol_upper);  // Garay, new in 16.0
  EXPECT_EQ(symbol_of(0x10D70), symbol_lower);
  EXPECT_EQ(symbol_of(0x31350), symbol_letter);  // CJK extension H, new in 15.0: unknown to PCRE2 10.42
  EXPECT_EQ(symbol_of(0x10D40), symbol_number);
  EXPECT_EQ(symbol_of(0x10D69), symbol_mark);
  EXPECT_EQ(symbol_of(0x180E), symbol_other);
  EXPECT_EQ(symbol_of(0x3000), symbol_space);
  EXPECT_EQ(symbol_of(0x10FFFF), symbol_other);
  EXPECT_EQ(symbol_of('x'), 'x');
  EXPECT_EQ(pieces("\U00031350\U00031351 x"), (Pieces{"\U00031350\U00031351", " x"}));
}

// Characters whose class every Unicode version since 5.0 agrees on.
TEST(PreTokenizer, AgreesWithThePublishedPattern) {
  const Pieces parts = {"a",      "B",       "z",      "S",          "'",          "'s",       "'ll",    "'RE",
                        " ",      "  ",      "\t",     "\n",         "\r",         "0",        "7",      ".",
                        "/",      "<",       "(",      "_",          "\u00E9",     "\u00C9",   "\u4E2D", "\u0301",
                        "\u0663", "\u00BD",  "\u00A0", "\u3000",     "\u2028",     "\xC2\x85", "\u01C5", "\u02B0",
                        "\u017F", "'\u017F", "\u20AC", "\U0001F600", "\U0001D400", "\u0930",   "\u093F", "\u200B"};
  RngStream rng(21);
  for (int round = 0; round < 4000; ++round) {
    std::string text;
    for (std::uint64_t i = 1 + rng.below(14); i > 0; --i) text += parts[rng.below(parts.size())];
    EXPECT_EQ(pieces(text), pieces_by_pcre2(text)) << text;
  }
}

TEST(PreTokenizer, LosesNoByte) {
  RngStream rng(22);
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (std::uint64_t i = rng.below(60); i > 0; --i)
      text += static_cast<char>(rng.below(3) == 0 ? rng.below(128) : rng.below(256));
    std::string together;
    for (const std::string& piece : pieces(text)) {
      EXPECT_FALSE(piece.empty());
      together += piece;
    }
    EXPECT_EQ(together, text);
  }
}

TEST(PreTokenizer, ABadByteIsACharacterWithoutAClass) {
  EXPECT_EQ(pieces("ab\xFF\xFE!c"), (Pieces{"ab", "\xFF\xFE!", "c"}));
  EXPECT_EQ(pieces("\xFF"
                   "a"),
            (Pieces{"\xFF"
                    "a"}));                                       // as a prefix
  EXPECT_EQ(pieces("\xE4\xB8 x"), (Pieces{"\xE4\xB8", " x"}));    // cut short
  EXPECT_EQ(pieces("\xED\xA0\x80!"), (Pieces{"\xED\xA0\x80!"}));  // a surrogate
  EXPECT_EQ(pieces("1\xC0\x80"
                   "1"),
            (Pieces{"1", "\xC0\x80", "1"}));  // overlong
}

}  // namespace
}  // namespace kc
