// Random conversations and completions, rendered and parsed by openai-harmony at the moment of the test.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "harmony/parser.h"
#include "tests/harmony/cases.h"
#include "tests/support/o200k_vocabulary.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

namespace fs = std::filesystem;

bool runs(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// None, with the reason, where openai-harmony or its vocabulary is not there.
std::optional<Cases> random_cases(int seed, int count, std::string& reason) {
  const std::optional<fs::path> vocabulary = o200k_vocabulary();
  if (!vocabulary) {
    reason = kNoO200kVocabulary;
    return std::nullopt;
  }
  const TempFolder folder;
  if (!runs((vocabulary->extension() == ".gz" ? "gunzip -c '" : "cat '") + vocabulary->string() + "' > '" +
            (folder / "o200k_base.tiktoken").string() + "'")) {
    reason = "cannot read " + vocabulary->string();
    return std::nullopt;
  }
  const fs::path python = fs::path(KC_SOURCE_DIR) / ".venv/bin/python3";
  const std::string command = "TIKTOKEN_ENCODINGS_BASE='" + folder.path().string() + "' '" +
                              (fs::exists(python) ? python.string() : "python3") +
                              "' '" KC_SOURCE_DIR "/tests/golden/make_harmony.py' --random " + std::to_string(seed) +
                              " " + std::to_string(count) + " '" + (folder / "cases.json").string() +
                              "' >/dev/null 2>&1";
  if (!runs(command)) {
    reason = "openai-harmony is not installed (scripts/setup --reference brings it)";
    return std::nullopt;
  }
  return read_cases(folder / "cases.json");
}

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
  std::string reason;
  const std::optional<Cases> cases = random_cases(2026, 400, reason);
  if (!cases) GTEST_SKIP() << reason;
  expect_token_for_token(*cases);
}

TEST(HarmonyReference, RendersAndParsesEveryStoredCaseTokenForToken) {
  if (!o200k_vocabulary()) GTEST_SKIP() << kNoO200kVocabulary;
  expect_token_for_token(read_cases(std::string(KC_SOURCE_DIR) + "/tests/golden/harmony/cases.json"));
}

}  // namespace
}  // namespace kc::test
