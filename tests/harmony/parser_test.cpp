#include <gtest/gtest.h>

#include "base/rng.h"
#include "harmony/parser.h"
#include "harmony/renderer.h"
#include "tests/support/expect_error.h"
#include "tests/support/harmony_tokenizer.h"

namespace kc {
namespace {

const Tokenizer& bytes() {
  static const std::shared_ptr<const Tokenizer> tokenizer = harmony_byte_tokenizer();
  return *tokenizer;
}
HarmonySpecials specials() { return *HarmonySpecials::find(bytes()); }

std::vector<ParsedMessage> parse(const std::string& completion) {
  return parse_completion(bytes(), specials(), bytes().encode(completion, true));
}

HarmonyMessage only(const std::string& completion) {
  const std::vector<ParsedMessage> parsed = parse(completion);
  EXPECT_EQ(parsed.size(), 1U) << completion;
  return parsed.empty() ? HarmonyMessage{} : parsed.front().message;
}

HarmonyMessage call_of_head(const std::string& content_type) {
  return {.role = HarmonyRole::assistant,
          .recipient = "functions.head",
          .channel = "commentary",
          .content_type = content_type,
          .content = "{\"path\":\"b\"}"};
}

constexpr const char* kBody = "<|message|>{\"path\":\"b\"}<|call|>";

TEST(HarmonyParser, ReadsTheVariantsOfOneCall) {
  const HarmonyMessage constrained = call_of_head("<|constrain|>json");
  const HarmonyMessage plain = call_of_head("");
  const HarmonyMessage json = call_of_head("json");
  const std::string body = kBody;
  EXPECT_EQ(only(" to=functions.head<|channel|>commentary<|constrain|>json" + body), constrained);
  EXPECT_EQ(only("<|channel|>commentary to=functions.head <|constrain|>json" + body), constrained);
  EXPECT_EQ(only("<|channel|>commentary to=functions.head<|constrain|>json" + body), constrained);
  EXPECT_EQ(only("<|channel|>commentary to=functions.head <|constrain|> json" + body), constrained);
  EXPECT_EQ(only("<|channel|>commentary <|constrain|>json to=functions.head" + body), constrained);
  EXPECT_EQ(only("<|channel|>commentary to=functions.head" + body), plain);
  EXPECT_EQ(only("<|channel|> commentary  to=functions.head " + body), plain);
  EXPECT_EQ(only("<|channel|>commentary to=functions.head json" + body), json);
  EXPECT_EQ(only("<|channel|>commentary json to=functions.head" + body), json);
  EXPECT_EQ(only(" to=functions.head<|channel|>commentary json" + body), json);
  EXPECT_EQ(only("<|channel|>commentary functions.head" + body), plain);
  EXPECT_EQ(only("<|channel|>commentary? to=functions.head" + body), plain);
  EXPECT_EQ(only("<|channel|>commentary<|channel|>analysis to=functions.head" + body), plain);
  EXPECT_EQ(only("assistant<|channel|>commentary to=functions.head" + body), plain);
}

TEST(HarmonyParser, TakesALoneJsonForAContentType) {
  const HarmonyMessage message = only("<|channel|>commentary json<|message|>{}<|end|>");
  EXPECT_EQ(message.recipient, "");
  EXPECT_EQ(message.content_type, "json");
}

TEST(HarmonyParser, KeepsHowEachMessageEnded) {
  const auto end_of = [](const std::string& end) { return parse("<|channel|>final<|message|>x" + end).at(0).end; };
  EXPECT_EQ(end_of(""), MessageEnd::open);
  EXPECT_EQ(end_of("<|end|>"), MessageEnd::end);
  EXPECT_EQ(end_of("<|call|>"), MessageEnd::call);
  EXPECT_EQ(end_of("<|return|>"), MessageEnd::returns);
  EXPECT_EQ(end_of("<|endoftext|>"), MessageEnd::end_of_text);
  EXPECT_EQ(end_of("<|start|>assistant<|message|>y<|end|>"), MessageEnd::start);
}

TEST(HarmonyParser, ReturnsTheTextOfATurnThatEndsBeforeItsMessage) {
  const std::vector<ParsedMessage> parsed = parse("<|channel|>final Lima.<|return|>");
  ASSERT_EQ(parsed.size(), 1U);
  EXPECT_FALSE(parsed[0].has_header);
  EXPECT_EQ(parsed[0].message.content, "<|channel|>final Lima.");
  EXPECT_TRUE(parse("<|end|><|return|><|start|>").empty());
}

TEST(HarmonyParser, BeginsAMessageWhoseStartIsMissing) {
  const std::vector<ParsedMessage> parsed =
      parse("<|channel|>analysis<|message|>a<|end|>assistant<|channel|>final<|message|>b<|return|>");
  ASSERT_EQ(parsed.size(), 2U);
  EXPECT_EQ(parsed[1].message, assistant_message("final", "b"));
}

TEST(HarmonyParser, TakesNoBlankBetweenMessagesForAMessage) {
  const std::vector<ParsedMessage> parsed =
      parse("<|channel|>analysis<|message|>a<|end|>\n<|start|>assistant<|channel|>final<|message|>b<|return|> ");
  ASSERT_EQ(parsed.size(), 2U);
  EXPECT_EQ(parsed[1].message, assistant_message("final", "b"));
}

TEST(HarmonyParser, NamesOtherAuthors) {
  const std::vector<ParsedMessage> parsed = parse(
      "<|message|>a<|end|><|start|>user:bob<|message|>b<|end|><|start|>functions.f to=assistant<|channel|>commentary"
      "<|message|>c<|end|><|start|><|message|>d<|end|>");
  ASSERT_EQ(parsed.size(), 4U);
  EXPECT_EQ(parsed[1].message, (HarmonyMessage{.role = HarmonyRole::user, .name = "bob", .content = "b"}));
  EXPECT_EQ(parsed[2].message, function_result("f", "c"));
  EXPECT_EQ(parsed[3].message.role, HarmonyRole::assistant);
}

TEST(HarmonyParser, KeepsWordsThatMeanNothing) {
  const std::vector<ParsedMessage> parsed = parse("<|channel|>final to=user json odd words<|message|>x<|return|>");
  ASSERT_EQ(parsed.size(), 1U);
  EXPECT_EQ(parsed[0].junk, "odd words");
  EXPECT_EQ(parsed[0].message.recipient, "user");
}

TEST(HarmonyParser, ShowsTheGrowingMessage) {
  HarmonyParser parser(bytes(), specials(), HarmonyParser::From::completion);
  EXPECT_EQ(parser.state(), HarmonyParser::State::header);
  for (const TokenId id : bytes().encode("<|channel|>analysis<|message|>Because", true)) parser.feed(id);
  EXPECT_EQ(parser.state(), HarmonyParser::State::content);
  EXPECT_EQ(parser.current().message, assistant_message("analysis", "Because"));
  EXPECT_TRUE(parser.messages().empty());
  parser.feed(specials().end);
  EXPECT_EQ(parser.state(), HarmonyParser::State::expect_start);
  EXPECT_EQ(parser.messages().size(), 1U);
}

TEST(CallsFunction, WithAndWithoutTheNamespace) {
  const auto to = [](const std::string& recipient) {
    HarmonyMessage message = function_call("f", "{}");
    message.recipient = recipient;
    return message;
  };
  EXPECT_TRUE(calls_function(to("functions.f"), "f"));
  EXPECT_TRUE(calls_function(to("f"), "f"));
  EXPECT_FALSE(calls_function(to("functions.ff"), "f"));
  EXPECT_FALSE(calls_function(to(""), "f"));
  EXPECT_FALSE(calls_function({.role = HarmonyRole::user, .recipient = "f"}, "f"));
}

// Any ids, biased to the special tokens and to words of headers.
std::vector<TokenId> random_tokens(RngStream& rng) {
  static const std::vector<std::string> words = {"assistant", " to=functions.f", "commentary", "analysis", "final",
                                                 " json",     "user:bob",        "{\"a\":1}",  "?",        " ",
                                                 "\n",        "\xf0\x9f",        "functions.f"};
  std::vector<TokenId> tokens;
  for (std::uint64_t n = rng.below(40); n > 0; --n) {
    const std::uint64_t kind = rng.below(3);
    if (kind == 0) {
      tokens.push_back(static_cast<TokenId>(256 + rng.below(9)));
    } else if (kind == 1) {
      tokens.push_back(static_cast<TokenId>(rng.below(256)));
    } else {
      const std::vector<TokenId> word = bytes().encode(words[rng.below(words.size())], false);
      tokens.insert(tokens.end(), word.begin(), word.end());
    }
  }
  return tokens;
}

std::size_t text_bytes(const std::vector<TokenId>& tokens) {
  return static_cast<std::size_t>(std::count_if(tokens.begin(), tokens.end(), [](TokenId id) { return id < 256; }));
}

TEST(HarmonyParserProperty, GivesAResultForAnyTokensAndNeverInventsText) {
  RngStream rng(std::uint64_t{11});
  for (int i = 0; i < 20000; ++i) {
    const std::vector<TokenId> tokens = random_tokens(rng);
    std::size_t kept = 0;
    for (const ParsedMessage& parsed : parse_completion(bytes(), specials(), tokens)) {
      // Specials that are not framing stay as spelled text.
      for (const char c : parsed.message.content) kept += static_cast<unsigned char>(c) != 0 ? 1U : 0U;
      EXPECT_TRUE(parsed.has_header || !parsed.message.content.empty());
    }
    EXPECT_LE(kept, text_bytes(tokens) + 16 * tokens.size());
  }
}

TEST(HarmonyParserProperty, DoesNotDependOnWhatCameInOneGo) {
  RngStream rng(std::uint64_t{12});
  for (int i = 0; i < 2000; ++i) {
    const std::vector<TokenId> tokens = random_tokens(rng);
    HarmonyParser parser(bytes(), specials(), HarmonyParser::From::completion);
    std::size_t finished = 0;
    for (const TokenId token : tokens) {
      parser.feed(token);
      EXPECT_GE(parser.messages().size(), finished);
      EXPECT_LE(parser.messages().size(), finished + 1);
      finished = parser.messages().size();
    }
    parser.finish();
    const std::vector<ParsedMessage> whole = parse_completion(bytes(), specials(), tokens);
    ASSERT_EQ(parser.messages().size(), whole.size());
    for (std::size_t k = 0; k < whole.size(); ++k) EXPECT_EQ(parser.messages()[k].message, whole[k].message);
  }
}

HarmonyMessage random_message(RngStream& rng) {
  const std::string content = "text " + std::to_string(rng.below(1000)) + (rng.below(2) == 0 ? "\n{}" : " \xc3\xa9");
  switch (rng.below(5)) {
    case 0:
      return assistant_message(kAnalysisChannel, content);
    case 1:
      return function_call("f" + std::to_string(rng.below(3)), content);
    case 2:
      return function_result("f", content);
    case 3:
      return {.role = HarmonyRole::user, .name = rng.below(2) == 0 ? "" : "bob", .content = content};
    default:
      return assistant_message(kFinalChannel, content);
  }
}

TEST(HarmonyParserProperty, ReadsBackWhatIsRendered) {
  RngStream rng(std::uint64_t{13});
  const HarmonyRenderer renderer(bytes(), specials());
  for (int i = 0; i < 2000; ++i) {
    std::vector<HarmonyMessage> messages;
    for (std::uint64_t n = 1 + rng.below(6); n > 0; --n) messages.push_back(random_message(rng));
    HarmonyParser parser(bytes(), specials(), HarmonyParser::From::conversation);
    for (const TokenId id : renderer.conversation(messages, {.drop_analysis = false})) parser.feed(id);
    ASSERT_EQ(parser.messages().size(), messages.size());
    for (std::size_t k = 0; k < messages.size(); ++k) EXPECT_EQ(parser.messages()[k].message, messages[k]);
  }
}

TEST(ToolTypes, RefuseParametersThatAreNoSchema) {
  const ToolNamespace space{.tools = {{"f", "", "[1, 2"}}};
  EXPECT_ERROR(developer_message({.tools = {space}}), ErrorKind::bad_data, testing::HasSubstr("tool 'f'"));
}

TEST(ToolTypes, SurviveSchemasNestedWithoutEnd) {
  std::string schema;
  for (int i = 0; i < 2000; ++i) schema += "{\"type\":\"array\",\"items\":";
  schema += "{}" + std::string(2000, '}');
  const ToolNamespace space{.tools = {{"f", "", schema}}};
  EXPECT_THAT(developer_message({.tools = {space}}).content, testing::HasSubstr("any[][]"));
}

}  // namespace
}  // namespace kc
