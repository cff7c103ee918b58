#include "base/printable.h"

#include <gtest/gtest.h>

namespace kc {
namespace {

TEST(Printable, ShowsControlCharactersInsteadOfSendingThem) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable("one\ntwo\tthree\r"), "one\\ntwo\\tthree\\x0d");
  EXPECT_EQ(printable(std::string_view("\0\x7f", 2)), "\\x00\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\x9b") << "CSI as one Unicode character";
}

TEST(Printable, LeavesAllElse) {
  for (const char* text :
       {"", "model.layers.0.mlp", "größe", "a\\nb", "日本語", "\xc2\xa0", "\U0001F600", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(printable(text), text);
  const std::string once = printable("a\x1b\n\\");
  EXPECT_EQ(printable(once), once);
}

TEST(Printable, GivesUtf8) {
  EXPECT_EQ(printable("a\xff"), "a\\xff");
  EXPECT_EQ(printable("\xc2"), "\\xc2");
  EXPECT_EQ(printable("\xc2z"), "\\xc2z");
  EXPECT_EQ(printable("\xe4\xb8"), "\\xe4\\xb8") << "the end of a character is missing";
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b") << "ESC in two bytes";
  EXPECT_EQ(printable("\xe0\x80\x9b"), "\\xe0\\x80\\x9b");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "above U+10FFFF";
}

TEST(Printable, KeepsWhatIsAskedFor) { EXPECT_EQ(printable("a\nb\x1b", "\n"), "a\nb\\x1b"); }

}  // namespace
}  // namespace kc
