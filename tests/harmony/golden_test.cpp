// What openai-harmony renders and parses, stored.
#include <gtest/gtest.h>

#include "harmony/parser.h"
#include "tests/harmony/cases.h"
#include "tests/support/harmony_tokenizer.h"

namespace kc::test {
namespace {

const Cases& stored() {
  static const Cases cases = read_cases(std::string(KC_SOURCE_DIR) + "/tests/golden/harmony/cases.json");
  return cases;
}

TEST(HarmonyGolden, RendersEveryStoredConversation) {
  const auto tokenizer = harmony_byte_tokenizer();
  const HarmonyRenderer renderer(*tokenizer, *HarmonySpecials::find(*tokenizer));
  ASSERT_GE(stored().rendered.size(), 80U);
  for (const RenderCase& given : stored().rendered) {
    EXPECT_EQ(tokenizer->decode(render(renderer, given)), given.text) << given.name;
  }
}

TEST(HarmonyGolden, ParsesEveryStoredCompletion) {
  const auto tokenizer = harmony_byte_tokenizer();
  ASSERT_GE(stored().parsed.size(), 10U);
  for (const ParseCase& given : stored().parsed) {
    const auto parsed =
        parse_completion(*tokenizer, *HarmonySpecials::find(*tokenizer), tokenizer->encode(given.completion, true));
    ASSERT_EQ(parsed.size(), given.messages.size()) << given.name;
    for (std::size_t i = 0; i < parsed.size(); ++i) EXPECT_EQ(parsed[i].message, given.messages[i]) << given.name;
  }
}

}  // namespace
}  // namespace kc::test
