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

TEST(Pattern, RepetitionsRunOverMegabytes) {
  const std::string long_word(4 << 20, 'a');
  EXPECT_EQ(Pattern(R"(\bf\w*\s*\()").find("f" + long_word + "("), 0);
  EXPECT_EQ(Pattern(R"(a+b)").find(std::string(2000, 'a')), std::nullopt);
}

}  // namespace
}  // namespace kc
