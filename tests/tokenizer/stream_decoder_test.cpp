#include "tokenizer/stream_decoder.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "tests/tokenizer/support.h"
#include "tokenizer/utf8.h"

namespace kc {
namespace {

bool whole_characters(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::vector<TokenId> single_bytes(const std::string& text) {
  std::vector<TokenId> ids;
  for (const char c : text) ids.push_back(test::tiny().id_of(std::string(1, c)));
  return ids;
}

TEST(StreamDecoder, WaitsForTheWholeCharacter) {
  StreamDecoder decoder(test::tiny());
  std::vector<std::string> outputs;
  for (const TokenId id : single_bytes("a\u00E9\u4E2D\U0001F600!")) outputs.push_back(decoder.push(id));
  EXPECT_EQ(outputs, (std::vector<std::string>{"a", "", "\u00E9", "", "", "\u4E2D", "", "", "", "\U0001F600", "!"}));
  EXPECT_EQ(decoder.finish(), "");
}

TEST(StreamDecoder, GivesOutBytesThatCannotBecomeACharacter) {
  StreamDecoder decoder(test::tiny());
  std::vector<std::string> outputs;
  for (const TokenId id : single_bytes("\xFF\xE4\xB8\xE4x\xED\xA0\xF0\x9F")) outputs.push_back(decoder.push(id));
  EXPECT_EQ(outputs, (std::vector<std::string>{"\xFF", "", "", "\xE4\xB8", "\xE4x", "", "\xED\xA0", "", ""}));
  EXPECT_EQ(decoder.finish(), "\xF0\x9F");
  EXPECT_EQ(decoder.push(test::tiny().id_of("a")), "a");
}

TEST(StreamDecoder, ReservedPiecesComeOutWhole) {
  StreamDecoder decoder(test::tiny());
  EXPECT_EQ(decoder.push(test::tiny().id_of("<|end|>")), "<|end|>");
}

TEST(StreamDecoder, TogetherGivesWhatDecodeGives) {
  RngStream rng(31);
  for (int round = 0; round < 500; ++round) {
    std::vector<TokenId> ids;
    for (std::uint64_t i = rng.below(40); i > 0; --i)
      ids.push_back(static_cast<TokenId>(rng.below(round % 2 == 0 ? 256 : 700)));
    StreamDecoder decoder(test::tiny());
    std::string together;
    for (const TokenId id : ids) together += decoder.push(id);
    together += decoder.finish();
    EXPECT_EQ(together, test::tiny().decode(ids));
  }
}

// Text cut into tokens anywhere: no output may end inside a character.
TEST(StreamDecoder, NeverSplitsACharacter) {
  RngStream rng(32);
  const char* characters[] = {"a", " ", "\u00E9", "\u0301", "\u4E2D", "\u7684", "\U0001F600", "\U00031350", "\uFFFF"};
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (std::uint64_t i = rng.below(30); i > 0; --i) text += characters[rng.below(std::size(characters))];
    for (const auto& ids : {single_bytes(text), test::tiny().encode(text, false)}) {
      StreamDecoder decoder(test::tiny());
      std::string together;
      for (const TokenId id : ids) {
        const std::string part = decoder.push(id);
        EXPECT_TRUE(whole_characters(part));
        together += part;
      }
      EXPECT_EQ(decoder.finish(), "");
      EXPECT_EQ(together, text);
    }
  }
}

TEST(StreamDecoder, WorksForSentencePieceVocabularies) {
  const auto tokenizer = train_tokenizer({"abc abd caf\u00E9 abc\n"}, {.size = 280});
  const std::string text = "caf\u00E9 \u4E2D\U0001F600\n";
  StreamDecoder decoder(*tokenizer);
  std::string together;
  for (const TokenId id : tokenizer->encode(text, false)) {
    const std::string part = decoder.push(id);
    EXPECT_TRUE(whole_characters(part));
    together += part;
  }
  EXPECT_EQ(together + decoder.finish(), text);
}

TEST(Utf8, KnowsWhatIsUnfinished) {
  EXPECT_EQ(utf8_unfinished(""), 0U);
  EXPECT_EQ(utf8_unfinished("abc"), 0U);
  EXPECT_EQ(utf8_unfinished("a\xC3"), 1U);
  EXPECT_EQ(utf8_unfinished("a\xC3\xA9"), 0U);
  EXPECT_EQ(utf8_unfinished("\xE4\xB8"), 2U);
  EXPECT_EQ(utf8_unfinished("\xF0\x9F\x98"), 3U);
  EXPECT_EQ(utf8_unfinished("\xF0\x9F\x98\x80"), 0U);
  EXPECT_EQ(utf8_unfinished("\xE0\x80"), 0U);  // overlong
  EXPECT_EQ(utf8_unfinished("\xED\xA0"), 0U);  // a surrogate
  EXPECT_EQ(utf8_unfinished("\xF4\x90"), 0U);  // past U+10FFFF
  EXPECT_EQ(utf8_unfinished("\x80\x80"), 0U);
  EXPECT_EQ(utf8_unfinished("\xC0"), 0U);
}

}  // namespace
}  // namespace kc
