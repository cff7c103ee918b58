#include "measure/core_hold.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>

#include "base/cores.h"

namespace kc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kAboveRunners = 2;
constexpr std::size_t kLine = 64;

void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, nullptr, nullptr, 0);
}

bool take_core(int core) {
  const sched_param priority{kAboveRunners};
  return stay_on_core(core) && ::sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
}

void read_lines(std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += kLine) {
    static_cast<void>(*static_cast<const volatile std::byte*>(bytes.data() + i));
  }
}

}  // namespace

CoreHold::CoreHold(int core, std::chrono::milliseconds longest) : longest_(longest) {
  if (core < 0) return;
  thread_ = std::thread([this, core] { serve(core); });
  while (started_.load(std::memory_order_acquire) == 0) ::sched_yield();
  works_ = started_.load(std::memory_order_acquire) == 1;
}

CoreHold::~CoreHold() {
  if (!thread_.joinable()) return;
  ends_.store(true, std::memory_order_release);
  release();
  wanted_.fetch_add(1, std::memory_order_release);
  futex(wanted_, FUTEX_WAKE_PRIVATE, 1);
  thread_.join();
}

void CoreHold::serve(int core) {
  const bool works = take_core(core);
  started_.store(works ? 1 : -1, std::memory_order_release);
  if (!works) return;
  for (std::uint32_t done = 0;;) {
    const std::uint32_t wanted = wanted_.load(std::memory_order_acquire);
    if (ends_.load(std::memory_order_acquire)) return;
    if (wanted == done) {
      futex(wanted_, FUTEX_WAIT_PRIVATE, wanted);
      continue;
    }
    held_.store(wanted, std::memory_order_release);
    const Clock::time_point end = Clock::now() + longest_;
    while (released_.load(std::memory_order_acquire) != wanted && Clock::now() < end) {
      read_if_asked();
      __builtin_ia32_pause();
    }
    done = wanted;
  }
}

void CoreHold::read_if_asked() {
  Reading reading = reading_.load(std::memory_order_relaxed);
  if (reading != Reading::asked) return;  // no exclusive access while it spins
  if (!reading_.compare_exchange_strong(reading, Reading::underway, std::memory_order_acquire)) return;
  read_lines(bytes_);
  reading_.store(Reading::done, std::memory_order_release);
}

void CoreHold::hold() {
  if (!works_) return;
  const std::uint32_t number = wanted_.fetch_add(1, std::memory_order_acq_rel) + 1;
  futex(wanted_, FUTEX_WAKE_PRIVATE, 1);
  const Clock::time_point end = Clock::now() + longest_;
  while (held_.load(std::memory_order_acquire) != number && Clock::now() < end) __builtin_ia32_pause();
}

bool CoreHold::read(std::span<const std::byte> bytes) {
  if (!works_) return false;
  bytes_ = bytes;
  reading_.store(Reading::asked, std::memory_order_release);
  const Clock::time_point end = Clock::now() + longest_;
  while (reading_.load(std::memory_order_acquire) != Reading::done) {
    // Withdrawn, or a later hold would read bytes that may be gone by then.
    Reading asked = Reading::asked;
    if (Clock::now() > end && reading_.compare_exchange_strong(asked, Reading::none, std::memory_order_relaxed)) {
      return false;
    }
    __builtin_ia32_pause();
  }
  reading_.store(Reading::none, std::memory_order_relaxed);
  return true;
}

void CoreHold::release() { released_.store(wanted_.load(std::memory_order_acquire), std::memory_order_release); }

}  // namespace kc
