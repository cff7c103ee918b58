#include "forecast/line_diff.h"

#include <gmock/gmock.h>

#include "base/rng.h"

namespace kc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Lines = std::vector<std::string>;

TEST(LineDifference, KeepsOrderAndSkipsWhatBothHave) {
  const LineDifference d = line_difference({"a", "b", "c", "d"}, {"a", "x", "c", "y", "d"});
  EXPECT_THAT(d.only_in_a, ElementsAre("b"));
  EXPECT_THAT(d.only_in_b, ElementsAre("x", "y"));
}

TEST(LineDifference, EmptyForEqualTextsAndWholeForDisjointOnes) {
  EXPECT_THAT(line_difference({"a", "b"}, {"a", "b"}).only_in_a, IsEmpty());
  const LineDifference d = line_difference({"a"}, {});
  EXPECT_THAT(d.only_in_a, ElementsAre("a"));
  EXPECT_THAT(d.only_in_b, IsEmpty());
}

std::size_t longest_common(const Lines& a, std::size_t i, const Lines& b, std::size_t j) {
  if (i == a.size() || j == b.size()) return 0;
  if (a[i] == b[j]) return 1 + longest_common(a, i + 1, b, j + 1);
  return std::max(longest_common(a, i + 1, b, j), longest_common(a, i, b, j + 1));
}

TEST(LineDifference, RemovesALongestCommonSubsequence) {
  RngStream rng(3);
  const auto random_lines = [&] {
    Lines lines(rng.below(8));
    for (std::string& line : lines) line = std::string(1, static_cast<char>('a' + rng.below(3)));
    return lines;
  };
  for (int trial = 0; trial < 300; ++trial) {
    const Lines a = random_lines(), b = random_lines();
    const LineDifference d = line_difference(a, b);
    const std::size_t common = longest_common(a, 0, b, 0);
    ASSERT_EQ(d.only_in_a.size(), a.size() - common);
    ASSERT_EQ(d.only_in_b.size(), b.size() - common);
  }
}

TEST(LineDifference, MatchesHugeTextsAsMultisets) {
  Lines a, b;
  for (int i = 0; i < 3000; ++i) {
    a.push_back("line " + std::to_string(i));
    b.push_back("line " + std::to_string(2999 - i));
  }
  b[1500] = "new";
  const LineDifference d = line_difference(a, b);
  EXPECT_THAT(d.only_in_a, ElementsAre("line 1499"));
  EXPECT_THAT(d.only_in_b, ElementsAre("new"));
}

}  // namespace
}  // namespace kc
