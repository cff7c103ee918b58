#include "base/interrupt.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "base/log.h"
#include "tests/support/expect_error.h"

namespace kc {
namespace {

using namespace std::chrono_literals;
using ::testing::ExitedWithCode;

void wait_until_stopped(const std::stop_token& stop) {
  for (int i = 0; i < 5000 && !stop.stop_requested(); ++i) std::this_thread::sleep_for(1ms);
}

// Each case runs in a process of its own: the handlers of this one stay as they are.
[[noreturn]] void stop_once(int number) {
  log::set_level(log::Level::off);
  const std::stop_token stop = interrupt_token();
  if (stop.stop_requested()) std::_Exit(90);
  std::raise(number);
  wait_until_stopped(stop);
  try {
    throw_if_stopped(stop);
  } catch (const Error& error) {
    std::_Exit(exit_code(error.kind()));
  }
  std::_Exit(91);
}

[[noreturn]] void stop_twice() {
  const std::stop_token stop = interrupt_token();
  std::raise(SIGINT);
  wait_until_stopped(stop);
  std::raise(SIGTERM);
  std::_Exit(92);
}

[[noreturn]] void stop_a_forked_child() {
  const std::stop_token stop = interrupt_token();
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    std::_Exit(93);
  }
  std::this_thread::sleep_for(50ms);
  ::kill(child, SIGTERM);
  int status = 0;
  ::waitpid(child, &status, 0);
  std::this_thread::sleep_for(50ms);
  const bool child_died = WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
  std::_Exit(child_died && !stop.stop_requested() ? 0 : 94);
}

TEST(Interrupt, ASignalTriggersTheTokenAndBecomesAnInterruptedError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(stop_once(SIGINT), ExitedWithCode(130), "");
  EXPECT_EXIT(stop_once(SIGTERM), ExitedWithCode(130), "");
}

TEST(Interrupt, TheSecondSignalEndsTheProcessAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(stop_twice(), ExitedWithCode(130), "once more to end at once");
}

TEST(Interrupt, KillingAForkedChildDoesNotStopTheParent) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(stop_a_forked_child(), ExitedWithCode(0), "");
}

TEST(Interrupt, AnUntriggeredTokenLetsWorkGoOn) {
  EXPECT_NO_THROW(throw_if_stopped(std::stop_source().get_token()));
  EXPECT_NO_THROW(throw_if_stopped(std::stop_token()));
}

}  // namespace
}  // namespace kc
