// A million bytes of the same: time and the library's limits must hold.
#include <gtest/gtest.h>

#include <ctime>

#include "tests/tokenizer/support.h"

namespace kc {
namespace {

constexpr std::size_t kBytes = 1'000'000;

std::string repeated(std::string_view part) {
  std::string text;
  while (text.size() < kBytes) text += part;
  return text;
}

// Processor time, so that a busy machine does not fail it.
double encode_seconds(const Tokenizer& tokenizer, const std::string& text) {
  const std::clock_t start = std::clock();
  const std::vector<TokenId> ids = tokenizer.encode(text, false);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(tokenizer.decode(ids), text);
  return seconds;
}

void expect_linear(const Tokenizer& tokenizer) {
  const std::pair<const char*, std::string> parts[] = {{"a", "a"},
                                                       {"A", "A"},
                                                       {"space", " "},
                                                       {"digit", "7"},
                                                       {"newline", "\n"},
                                                       {"bad byte", "\xFF"},
                                                       {"=", "="},
                                                       {"/", "/"},
                                                       {"quote", "'"},
                                                       {"tab", "\t"},
                                                       {"han", "\u4E2D"},
                                                       {"mark", "\u0301"},
                                                       {"crlf", "\r\n"},
                                                       {"ab", "ab"},
                                                       {"space newline", " \n"},
                                                       {"emoji", "\U0001F600"},
                                                       {"aA", "aA"},
                                                       {"it's", "'s"},
                                                       {"hard space", "\u00A0"},
                                                       {"cut han", "\xE4\xB8"}};
  for (const auto& [name, part] : parts) {
    const double seconds = encode_seconds(tokenizer, repeated(part));
    EXPECT_LT(seconds, 1.0) << name;
    std::printf("1 MB of %s: %.3f s\n", name, seconds);
  }
  EXPECT_LT(encode_seconds(tokenizer, std::string(kBytes, ' ') + "x"), 1.0);
  EXPECT_LT(encode_seconds(tokenizer, std::string(kBytes, 'A') + "1" + std::string(kBytes, '\n') + "x"), 2.0);
}

TEST(LongText, TakesLinearTimeWithASmallVocabulary) { expect_linear(test::tiny()); }

TEST(LongText, TakesLinearTimeWithO200k) {
  if (test::o200k() == nullptr) GTEST_SKIP() << test::kNoO200k;
  expect_linear(*test::o200k());
}

}  // namespace
}  // namespace kc
