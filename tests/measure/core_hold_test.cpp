#include "measure/core_hold.h"

#include <gmock/gmock.h>

#include <chrono>
#include <optional>
#include <thread>

#include "base/cores.h"
#include "measure/machine.h"
#include "measure/shared_memory.h"

namespace kc::test {
namespace {

class HeldCore : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cores_.shared) GTEST_SKIP() << "one core only";
    if (!CoreHold(cores_.runner).works()) GTEST_SKIP() << "no right to real time";
    elsewhere_.emplace(cores_.harness, false);
  }
  const CorePair cores_ = choose_cores();

 private:
  std::optional<TimingThread> elsewhere_;  // as the harness is: on the held core a test would wait, too
};

TEST_F(HeldCore, NothingElseRunsOnTheCoreMeanwhile) {
  CoreHold hold(cores_.runner);
  std::atomic<std::uint64_t> count{0};
  std::atomic<bool> ends{false};
  std::thread other([&] {
    stay_on_core(cores_.runner);
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

TEST_F(HeldCore, ReadsForWhatRunsThereNextWhileItHolds) {
  const std::vector<std::byte> bytes(4096);
  CoreHold hold(cores_.runner, std::chrono::milliseconds(500));
  for (int i = 0; i < 3; ++i) {
    hold.hold();
    EXPECT_TRUE(hold.read(bytes));
    hold.release();
  }
}

TEST_F(HeldCore, ReadsNothingWhenItsHoldIsOver) {
  const std::vector<std::byte> bytes(4096);
  CoreHold hold(cores_.runner);
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
TEST_F(HeldCore, AReadingThatCameTooLateIsWithdrawn) {
  CoreHold hold(cores_.runner, std::chrono::milliseconds(500));
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
