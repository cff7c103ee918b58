#pragma once
// Keeps a core from whatever runs on it at a lower priority, for microseconds: while the harness puts inputs where a
// runner can see them, its candidate must not run, or it would have computed before the clock starts.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>

namespace kc {

class CoreHold {
 public:
  // A thread on `core`, in real time above the runners' (measure/machine.h, TimingThread). Without the right to real
  // time, or without a core (-1), it holds nothing. No hold lasts longer than `longest`, whatever becomes of the
  // caller.
  explicit CoreHold(int core, std::chrono::milliseconds longest = std::chrono::milliseconds(5));
  ~CoreHold();
  CoreHold(const CoreHold&) = delete;
  CoreHold& operator=(const CoreHold&) = delete;

  bool works() const { return works_; }
  // Returns once the thread has the core. Nothing where it does not within `longest`: a turn is then as it was without.
  void hold();
  // To be called while the core is held: its caches read `bytes`, and whatever runs there next finds them warm, without
  // having seen them. False when the hold was over before that: nothing is read then, later neither. Returns within
  // `longest` and what the reading takes.
  bool read(std::span<const std::byte> bytes);
  // The core goes back; does not wait for it. Nothing when it is not held.
  void release();

 private:
  enum class Reading : std::uint32_t { none, asked, underway, done };

  void serve(int core);
  void read_if_asked();

  std::atomic<std::uint32_t> wanted_{0};    // number of the hold that is asked for (a futex)
  std::atomic<std::uint32_t> held_{0};      // number of the hold that has begun
  std::atomic<std::uint32_t> released_{0};  // number of the last hold that is over
  std::span<const std::byte> bytes_;        // the thread's from `underway` to `done`, else the caller's
  std::atomic<Reading> reading_{Reading::none};
  std::chrono::milliseconds longest_;
  std::atomic<bool> ends_{false};
  std::atomic<int> started_{0};  // 1: works, -1: does not
  bool works_ = false;
  std::thread thread_;
};

}  // namespace kc
