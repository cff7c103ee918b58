#include "base/pattern.h"

#include <string>

#include "tests/support/expect_error.h"

namespace kc {
namespace {

TEST(Pattern, FindsTheFirstMatch) {
  const Pattern call(R"(\bf\w*\s*\()");
  EXPECT_EQ(call.find("g(); of(); fa\t(1); f(2)"), 11);
  EXPECT_EQ(call.find("f f f"), std::nullopt);
  EXPECT_EQ(call.find(""), std::nullopt);
  EXPECT_ERROR(Pattern("a("), ErrorKind::internal, ::testing::HasSubstr("'a('"));
}

TEST(Pattern, MatchesAllOfATextOrNothing) {
  const Pattern either("a|ab");
  EXPECT_TRUE(either.matches("ab"));
  EXPECT_FALSE(either.matches("abc"));
  EXPECT_FALSE(either.matches("xab"));
  EXPECT_TRUE(Pattern(R"(.*\.[qv]_proj)").matches("model.layers.0.self_attn.q_proj"));
  EXPECT_ERROR(Pattern("(a|aa)+[bc]").matches(std::string(60, 'a')), ErrorKind::internal,
               ::testing::HasSubstr("its end"));
  EXPECT_ERROR(Pattern(std::string(1000000, '(')), ErrorKind::internal, ::testing::HasSubstr("PCRE2 refuses"));
}

TEST(Pattern, TellsWhereAMatchAndItsGroupsAre) {
  const Pattern call(R"(\b(f\w*)\s*(?:(!)|\())");
  const std::string text = "of( fa (f(";
  const auto first = call.match(text);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->begin, 4);
  EXPECT_EQ(first->end, 8);
  EXPECT_EQ(first->groups, (std::vector<std::string_view>{"fa (", "fa", ""}));
  const auto next = call.match(text, first->end);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->begin, 8);
  EXPECT_FALSE(call.match(text, next->end));
  EXPECT_FALSE(Pattern("^f").match("ff", 1));
}

TEST(Pattern, ReplacesEveryMatch) {
  EXPECT_EQ(Pattern(R"((\w)=(\w))").replaced("a=b, c=d", "$2* $1"), "b* a, d* c");
  EXPECT_EQ(Pattern("a").replaced("", "b"), "");
  EXPECT_EQ(Pattern("a").replaced("xyz", "b"), "xyz");
  EXPECT_EQ(Pattern("(a)|b").replaced("abab", "[$1]"), "[a][][a][]");
  const std::string long_word(4 << 20, 'a');
  EXPECT_EQ(Pattern("a").replaced(long_word, "bc").size(), 2 * long_word.size());
  EXPECT_ERROR(Pattern("(a|aa)+[bc]").replaced(std::string(60, 'a'), ""), ErrorKind::internal,
               ::testing::HasSubstr("its end"));
}

TEST(Pattern, RepetitionsRunOverMegabytes) {
  const std::string long_word(4 << 20, 'a');
  EXPECT_EQ(Pattern(R"(\bf\w*\s*\()").find("f" + long_word + "("), 0);
  EXPECT_EQ(Pattern(R"(a+b)").find(std::string(2000, 'a')), std::nullopt);
}

}  // namespace
}  // namespace kc
