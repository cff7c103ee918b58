#include "base/progress.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/log.h"

namespace kc {
namespace {

TEST(DurationText, ChoosesTheUnit) {
  EXPECT_EQ(duration_text(0.84), "0.8 s");
  EXPECT_EQ(duration_text(9.97), "10 s");
  EXPECT_EQ(duration_text(59.6), "1 min 00 s");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(7500), "2 h 05 min");
}

TEST(ProgressText, ShowsShareRateAndTimeLeft) {
  ProgressState state{"label", "candidates", "3 timeouts", 250, 2500, 12.5};
  EXPECT_EQ(progress_text(state), "label: 250/2500 candidates (10 %), 12.5/s, 3 min 00 s left, 3 timeouts");
  state.rate = 0.05;
  EXPECT_EQ(progress_text(state), "label: 250/2500 candidates (10 %), 3.0/min, 12 h 30 min left, 3 timeouts");
}

TEST(ProgressText, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(progress_text({"read", "rows", "", 5, 0, 0}), "read: 5 rows");
  EXPECT_EQ(progress_text({"read", "rows", "", 0, 7, 0}), "read: 0/7 rows (0 %)");
}

TEST(ProgressText, SaysHundredPercentOnlyAtTheEnd) {
  EXPECT_EQ(progress_text({"read", "rows", "", 999, 1000, 0}), "read: 999/1000 rows (99 %)");
  EXPECT_EQ(progress_text({"read", "rows", "", 1000, 1000, 1.0}), "read: 1000/1000 rows (100 %), 1.0/s");
}

TEST(Progress, CountsFromManyThreadsAndShowsTheSumOnce) {
  ::testing::internal::CaptureStderr();
  {
    Progress progress("work", 400, "items");
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) progress.advance(1, "ok");
      });
    }
    threads.clear();
    progress.finish();
    progress.finish();
  }
  const std::string shown = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(shown.find("work: 400/400 items (100 %)"), std::string::npos) << shown;
  EXPECT_NE(shown.find(", took "), std::string::npos) << shown;
  EXPECT_NE(shown.find(" s, ok\n"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("400/400"), shown.rfind("400/400")) << shown;
}

TEST(Progress, IsSilentWhenInfoIsHidden) {
  log::set_level(log::Level::warning);
  ::testing::internal::CaptureStderr();
  Progress progress("work", 1, "items");
  progress.advance();
  progress.finish();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  log::set_level(log::Level::info);
}

}  // namespace
}  // namespace kc
