// Random conversations and completions, rendered and parsed by openai-harmony at the moment of the test.
#include <gtest/gtest.h>

#include <string>

#include "harmony/parser.h"
#include "tests/harmony/cases.h"
#include "tests/support/harmony_reference.h"

namespace kc::test {
namespace {

void expect_token_for_token(const Cases& cases) {
  const auto tokenizer = load_tokenizer(*o200k_vocabulary());
  const HarmonySpecials specials = *HarmonySpecials::find(*tokenizer);
  const HarmonyRenderer renderer(*tokenizer, specials);
  for (const RenderCase& given : cases.rendered) {
    const std::vector<TokenId> ids = render(renderer, given);
    ASSERT_EQ(tokenizer->decode(ids), given.text) << given.name;
    ASSERT_EQ(ids, given.ids) << given.name << "\n" << given.text;
  }
  for (const ParseCase& given : cases.parsed) {
    const auto parsed = parse_completion(*tokenizer, specials, given.ids);
    ASSERT_EQ(parsed.size(), given.messages.size()) << given.completion;
    for (std::size_t i = 0; i < parsed.size(); ++i) ASSERT_EQ(parsed[i].message, given.messages[i]) << given.completion;
  }
}

TEST(HarmonyReference, RendersAndParsesRandomConversationsAlike) {
  if (!o200k_vocabulary()) GTEST_SKIP() << kNoO200kVocabulary;
  const TempFolder folder;
  const std::string out = (folder / "cases.json").string();
  if (const std::string reason = run_harmony_reference("--random 2026 400 '" + out + "'"); !reason.empty()) {
    if (reason.starts_with("failed")) FAIL() << reason;
    GTEST_SKIP() << reason;
  }
  expect_token_for_token(read_cases(out));
}

TEST(HarmonyReference, RendersAndParsesEveryStoredCaseTokenForToken) {
  if (!o200k_vocabulary()) GTEST_SKIP() << kNoO200kVocabulary;
  expect_token_for_token(read_cases(std::string(KC_SOURCE_DIR) + "/tests/golden/harmony/cases.json"));
}

}  // namespace
}  // namespace kc::test
