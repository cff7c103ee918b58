// Our prompt as openai-harmony renders it, with the real vocabulary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/json.h"
#include "tests/rollout/support.h"
#include "tests/support/harmony_reference.h"

namespace kc {
namespace {

using Json = nlohmann::ordered_json;

std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

Json conversation(const Prompt& prompt) {
  const Json tool = {
      {"name", kToolName}, {"description", tool_description()}, {"parameters", Json::parse(tool_parameters())}};
  const Json functions = {{"name", "functions"}, {"description", ""}, {"tools", Json::array({tool})}};
  const Json developer = {{"instructions", trimmed(prompt.system)}, {"tools", Json::array({functions})}};
  return Json::array({{{"role", "system"}, {"system", {{"effort", "medium"}, {"date", kDefaultPromptDate}}}},
                      {{"role", "developer"}, {"developer", developer}},
                      {{"role", "user"}, {"content", trimmed(prompt.user)}}});
}

TEST(ToolPrompt, IsTokenForTokenWhatOpenaiHarmonyRenders) {
  if (!test::o200k_vocabulary()) GTEST_SKIP() << test::kNoO200kVocabulary;
  const std::string kernel = read_file(std::string(KC_SOURCE_DIR) + "/examples/matmul/register_tiles.cpp");
  const PromptRequest request = request_of(kernel, kernel + "// \xe4\xb8\x96 <|end|> ```\n");
  const std::string template_file = std::string(KC_SOURCE_DIR) + "/configs/prompts/default.txt";
  const Prompt prompt = PromptTemplate::load(template_file).render(request, PromptStyle::full, WireFormat::tool);

  const test::TempFolder folder;
  folder.write("in.json", Json::array({conversation(prompt)}).dump());
  const std::string reason = test::run_harmony_reference("--render '" + (folder / "in.json").string() + "' '" +
                                                         (folder / "out.json").string() + "'");
  if (!reason.empty() && !reason.starts_with("failed")) GTEST_SKIP() << reason;
  ASSERT_EQ(reason, "");

  const PromptEncoder encoder({.template_file = template_file}, load_tokenizer(*test::o200k_vocabulary()));
  const auto expected = read_json_file(folder / "out.json").at("rendered").at(0).at("ids").get<std::vector<TokenId>>();
  EXPECT_EQ(encoder.encode(request), expected);

  // One text, one tokenisation: the taught answer is what the vocabulary makes of the whole call.
  const AnswerTokens answer = encoder.answer(5, label_probabilities(5));
  const auto tokenizer = load_tokenizer(*test::o200k_vocabulary());
  EXPECT_EQ(tokenizer->encode(tokenizer->decode(answer.tokens), true), answer.tokens);
  RecordProperty("prompt_tokens", std::to_string(expected.size()));
  RecordProperty("answer_tokens", std::to_string(answer.tokens.size()));
}

}  // namespace
}  // namespace kc
