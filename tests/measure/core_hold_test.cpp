#include "measure/core_hold.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "base/cores.h"
#include "measure/machine.h"
#include "measure/shared_memory.h"

namespace kc::test {
namespace {

TEST(CoreHold, NothingElseRunsOnTheCoreMeanwhile) {
  const CorePair cores = choose_cores();
  if (cores.shared) GTEST_SKIP() << "one core only";
  const TimingThread elsewhere(cores.harness, false);  // as the harness is: on the held core it would wait, too
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
  const TimingThread elsewhere(cores.harness, false);
  const std::vector<std::byte> bytes(4096);
  CoreHold hold(cores.runner, std::chrono::milliseconds(500));
  if (!hold.works()) GTEST_SKIP() << "no right to real time";
  for (int i = 0; i < 3; ++i) {
    hold.hold();
    EXPECT_TRUE(hold.read(bytes));
    hold.release();
  }
}

TEST(CoreHold, ReadsNothingWhenItsHoldIsOver) {
  const CorePair cores = choose_cores();
  if (cores.shared) GTEST_SKIP() << "one core only";
  const TimingThread elsewhere(cores.harness, false);
  const std::vector<std::byte> bytes(4096);
  CoreHold hold(cores.runner);
  if (!hold.works()) GTEST_SKIP() << "no right to real time";
  EXPECT_FALSE(hold.read(bytes)) << "held by nobody";
  // On a busy machine the thread may get its core after `hold` has given up: what was read says that the hold began.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  do {
    hold.release();
    hold.hold();
  } while (!hold.read(bytes) && std::chrono::steady_clock::now() < deadline);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(hold.read(bytes)) << "the hold is over";
}

// A runner's memory is gone with it; a later hold of the same session must not go back to it.
TEST(CoreHold, AReadingThatCameTooLateIsWithdrawn) {
  const CorePair cores = choose_cores();
  if (cores.shared) GTEST_SKIP() << "one core only";
  const TimingThread elsewhere(cores.harness, false);
  CoreHold hold(cores.runner, std::chrono::milliseconds(500));
  if (!hold.works()) GTEST_SKIP() << "no right to real time";
  {
    const SharedMemory gone("kernelcast-test", 4096);
    EXPECT_FALSE(hold.read(gone.bytes())) << "held by nobody";
  }
  hold.hold();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // for what the thread would do before it is asked
  const std::vector<std::byte> bytes(4096);
  EXPECT_TRUE(hold.read(bytes));
  hold.release();
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
