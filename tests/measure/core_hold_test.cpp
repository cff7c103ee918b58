#include "measure/core_hold.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "base/cores.h"
#include "measure/machine.h"

namespace kc::test {
namespace {

TEST(CoreHold, NothingElseRunsOnTheCoreMeanwhile) {
  const CorePair cores = choose_cores();
  if (cores.shared) GTEST_SKIP() << "one core only";
  CoreHold hold(cores.runner);
  if (!hold.works()) GTEST_SKIP() << "no right to real time";
  std::atomic<std::uint64_t> count{0};
  std::atomic<bool> ends{false};
  std::thread other([&] {
    stay_on_core(cores.runner);
    while (!ends) ++count;
  });
  while (count == 0) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) {
    hold.hold();
    const std::uint64_t before = count;
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(500);
    while (std::chrono::steady_clock::now() < end) {
    }
    EXPECT_EQ(count, before) << "hold " << i;
    hold.release();
    const std::uint64_t resumed = count;
    while (count == resumed) std::this_thread::yield();
  }
  ends = true;
  other.join();
}

TEST(CoreHold, ReadsForWhatRunsThereNextWhileItHolds) {
  const CorePair cores = choose_cores();
  if (cores.shared) GTEST_SKIP() << "one core only";
  const std::vector<std::byte> bytes(4096);
  CoreHold brief(cores.runner);
  if (!brief.works()) GTEST_SKIP() << "no right to real time";
  EXPECT_FALSE(brief.read(bytes)) << "held by nobody";
  brief.hold();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(brief.read(bytes)) << "the hold is over";
  CoreHold patient(cores.runner, std::chrono::milliseconds(500));
  for (int i = 0; i < 3; ++i) {
    patient.hold();
    EXPECT_TRUE(patient.read(bytes));
    patient.release();
  }
}

TEST(CoreHold, WithoutACoreHoldsNothing) {
  CoreHold hold(-1);
  EXPECT_FALSE(hold.works());
  hold.hold();
  EXPECT_FALSE(hold.read({}));
  hold.release();
}

}  // namespace
}  // namespace kc::test
