#include "measure/quiet_watch.h"

#include <gmock/gmock.h>

namespace kc::test {
namespace {

TEST(QuietWatch, TakesTheShortestTimesForThoseOfACoreAlone) {
  QuietWatch watch;
  EXPECT_TRUE(watch.add(20000)) << "nothing shorter is known yet";
  EXPECT_TRUE(watch.add(16000));
  EXPECT_TRUE(watch.add(16700));
  EXPECT_FALSE(watch.add(17000));
  EXPECT_FALSE(watch.add(20000));
}

TEST(QuietWatch, ForgetsAClockThatHasGoneForGood) {
  QuietWatch watch;
  watch.add(16000);
  for (int i = 0; i < 1990; ++i) EXPECT_FALSE(watch.add(20000)) << i;
  for (int i = 0; i < 2100; ++i) watch.add(20000);
  EXPECT_TRUE(watch.add(20000));
}

TEST(QuietWatch, RemembersTheRoundsOfTheLastLabels) {
  QuietWatch watch;
  EXPECT_EQ(watch.remembered().disturbed_share(), 0);
  watch.remember({10, 10});
  watch.remember({30, 0});
  EXPECT_EQ(watch.remembered().disturbed_share(), 0.25);
  for (int i = 0; i < 64; ++i) watch.remember({8, 0});
  EXPECT_EQ(watch.remembered().disturbed_share(), 0);
}

}  // namespace
}  // namespace kc::test
