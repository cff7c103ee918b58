#pragma once
// What the harness and a runner process share: one page of signals and descriptors, an arena of inputs (read-only for
// the runner) and an arena of outputs. The harness trusts nothing that it reads here: it compares signals with the turn
// that it announced, and copies texts with a bound.
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace kc {

inline constexpr std::size_t kRunnerMaxLaunches = 64;  // of one turn
inline constexpr std::size_t kRunnerMaxSizes = 16;
inline constexpr std::size_t kRunnerMaxTensors = 16;

// File descriptors of the runner.
inline constexpr int kControlFd = 3;
inline constexpr int kInputFd = 4;
inline constexpr int kOutputFd = 5;

enum class RunnerState : std::uint32_t { starting, loaded, failed };

// Bits of `missing`: pieces of isolation that the runner could not put in place.
inline constexpr std::uint32_t kNoNamespaces = 1;
inline constexpr std::uint32_t kNoFolder = 2;
inline constexpr std::uint32_t kNoUser = 4;
inline constexpr std::uint32_t kNoSystemCallFilter = 8;
inline constexpr std::uint32_t kNoLandlock = 16;

struct RunnerSetup {  // written by the harness before the runner starts
  char folder[512];   // becomes the runner's root
  char library[64];   // file name in it
  char function[32];
  std::int32_t core = -1;  // to stay on; -1: any
  std::int32_t threads = 1;
  std::uint32_t yields = 0;  // one core only: yield instead of spinning
  std::uint32_t sandbox = 1;
  std::uint64_t memory_limit = 0;  // bytes of address space
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
};

struct alignas(64) Signal {
  std::atomic<std::uint32_t> value;
};

// A turn t: the harness writes the descriptors and sets turn = t (futex); the runner prepares its pointers, launches
// `warm_launches` times on what its last turn left in the inputs, sets ready = t and spins; the harness poisons the
// outputs and sets poisoned = t; the runner takes their cache lines, sets owned = t and spins on go; the harness copies
// the inputs, stamps its clock and sets go = t; the runner launches and sets done = t (also a futex, for harnesses that
// block); the harness stamps its clock and checks the outputs.
struct RunnerControl {
  RunnerSetup setup;
  Signal turn, ready, poisoned, owned, go, done;
  std::uint32_t launches;
  std::uint32_t warm_launches;
  std::uint32_t inputs;
  std::uint32_t outputs;
  std::uint32_t quit;
  std::uint32_t witness;                // 1: a turn of the built-in work in place of launches (a trusted runner's only)
  std::int64_t sizes[kRunnerMaxSizes];  // is the task's `Case`
  std::uint64_t output_set_bytes;       // of one launch: what the runner may warm
  std::uint64_t offsets[kRunnerMaxLaunches][kRunnerMaxTensors];  // inputs, then outputs, each into its arena
  // Written by the runner.
  std::atomic<std::uint32_t> state;
  std::uint32_t missing;  // kNo... bits
  std::int32_t refused_call;
  std::int32_t fault_signal;
  std::uint32_t fault_in_inputs;
  char message[256];
};

}  // namespace kc
