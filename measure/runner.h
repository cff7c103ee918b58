#pragma once
// The harness's side of a runner process (runner_protocol.h): starting it, taking turns with it, watching it.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "forecast/measurement.h"
#include "measure/compile.h"
#include "measure/core_hold.h"
#include "measure/process.h"
#include "measure/runner_protocol.h"

namespace kc {

struct RunnerFailure {
  MeasurementStatus status = MeasurementStatus::runtime_error;
  std::string log;
};

struct RunnerSpec {
  std::filesystem::path folder;  // holds kernel.so
  std::string function = "run";
  int core = -1;             // the runner's; -1: any
  bool yields = false;       // harness and runner share one core
  int threads = 1;           // above 1 the harness blocks instead of spinning
  CoreHold* hold = nullptr;  // of the runner's core while inputs are copied; outlives the runner
  std::size_t input_bytes = 0;
  std::size_t output_bytes = 0;
};

// One turn: `launches` calls on sets that lie one after another in the arenas.
struct TurnSpec {
  std::span<const std::int64_t> sizes;
  std::size_t launches = 1;
  std::span<const std::size_t> input_offsets;  // in a set
  std::span<const std::size_t> output_offsets;
  std::size_t input_set_bytes = 0;
  std::size_t output_set_bytes = 0;
  // Launches before the clock starts, on the inputs of this runner's last turn, where that had the same kind of inputs
  // (an address that stands for their layout): so that code, tables and address translations are where a second launch
  // finds them, whatever else the core did meanwhile.
  std::size_t warm_launches = 0;
  const void* kind = nullptr;
};

class Runner {
 public:
  // Error{environment} when it cannot be started, or when `sandbox: require` and isolation is missing.
  Runner(const CompileEnvironment& environment, const RunnerSpec& spec);
  ~Runner();
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;

  // Waits until the library is loaded (static initialisers run then).
  std::optional<RunnerFailure> wait_until_loaded();

  // Whether its process has ended, by whatever hand. To be asked when no turn is on.
  bool has_ended();
  // Whether somebody has stopped its process (SIGSTOP), so that it would miss its turn.
  bool is_stopped() const;

  // Announces a turn and waits until the runner spins.
  std::optional<RunnerFailure> announce(const TurnSpec& turn);
  // The outputs are poisoned; waits until the runner's cache holds their lines, then holds its core. The inputs must be
  // copied after that, and launch() called.
  std::optional<RunnerFailure> hand_over_outputs();
  // The first `bytes` of the inputs come into the caches of the core that is held. False when the core could not be
  // held for so long.
  bool warm_inputs(std::size_t bytes);
  // Starts the launches of the announced turn and waits. Nanoseconds of the whole turn by the harness's clock.
  std::optional<RunnerFailure> launch(std::int64_t& nanoseconds);

  // A turn of the runner's built-in work, which tells whether its core is shared at the moment (quiet_watch.h);
  // nanoseconds. Only a trusted runner's answer means anything.
  std::optional<RunnerFailure> witness(std::int64_t& nanoseconds);

  std::span<std::byte> inputs() const;
  std::span<std::byte> outputs() const;

  // CPU time of the runner between its turns, in nanoseconds: work that no clock saw. To be read when no turn is on.
  // Of a runner with threads without the longest such work, which one accident of the machine may have caused.
  std::int64_t unseen_cpu_ns() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kc
