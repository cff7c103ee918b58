#include "base/suggest.h"

#include <gtest/gtest.h>

#include <array>

namespace kc {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("steps", "step"), 1U);
  EXPECT_EQ(edit_distance("seed", "sead"), 1U);
  EXPECT_EQ(edit_distance("brier", "breir"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(EditDistance, IsSymmetricAndZeroOnlyForEqualNames) {
  const std::array<std::string, 6> names = {"", "a", "lr", "learning_rate", "rate", "weight"};
  for (const std::string& a : names) {
    for (const std::string& b : names) {
      EXPECT_EQ(edit_distance(a, b), edit_distance(b, a));
      EXPECT_EQ(edit_distance(a, b) == 0, a == b);
    }
  }
}

TEST(NearestName, IgnoresCaseAndPrefersTheNearest) {
  const std::array<std::string, 4> names = {"NVIDIA A100", "NVIDIA H100", "NVIDIA H200", "Tesla T4"};
  EXPECT_EQ(nearest_name("nvidia h100", names), "NVIDIA H100");
  EXPECT_EQ(nearest_name("tesla t44", names), "Tesla T4");
}

TEST(NearestName, GivesNothingWhenNothingIsNear) {
  const std::array<std::string, 2> names = {"warmup.steps", "policy.steps"};
  EXPECT_EQ(nearest_name("xyzzy", names), std::nullopt);
  EXPECT_EQ(did_you_mean("xyzzy", names), "");
  EXPECT_EQ(did_you_mean("warmup.step", names), "; did you mean 'warmup.steps'?");
  EXPECT_EQ(nearest_name("anything", {}), std::nullopt);
}

}  // namespace
}  // namespace kc
