#include "measure/runner.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "measure/cgroup.h"
#include "measure/isolation.h"
#include "measure/shared_memory.h"

namespace kc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLoadTimeout = 5;      // seconds, of loading a library
constexpr double kAnnounceTimeout = 5;  // seconds, of a runner that only has to wake up
// A harness in real time that spins for long starves whatever shares its core, perhaps what the runner waits for.
constexpr double kPatience = 0.02;              // seconds
constexpr std::chrono::microseconds kNap(200);  // every millisecond from then on: at most 1 % of such a time
constexpr std::chrono::microseconds kRestAfterTurn(200);
constexpr std::uint64_t kSpareProcesses = 15;  // of a candidate that may have threads

void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

template <std::size_t N>
void copy_text(char (&target)[N], const std::string& text) {
  if (text.size() >= N) throw Error(ErrorKind::environment, fmt::format("{}: the path is too long", text));
  std::memcpy(target, text.c_str(), text.size() + 1);
}

std::string call_name(int number) {
  if (char* name = ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number)) {
    std::string text = name;
    ::free(name);
    return text;
  }
  return fmt::format("number {}", number);
}

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

struct Runner::Impl {
  Impl(const CompileEnvironment& environment, const RunnerSpec& spec)
      : control_memory("kernelcast-control", sizeof(RunnerControl)),
        inputs("kernelcast-inputs", std::max<std::size_t>(spec.input_bytes, 64)),
        outputs("kernelcast-outputs", std::max<std::size_t>(spec.output_bytes, 64)),
        control(new(control_memory.data()) RunnerControl()),
        options(environment.options),
        threads(spec.threads),
        hold(spec.hold),
        yields(spec.yields) {
    RunnerSetup& setup = control->setup;
    copy_text(setup.folder, spec.folder.string());
    copy_text(setup.library, kLibraryName);
    copy_text(setup.function, spec.function);
    setup.core = spec.core;
    setup.threads = spec.threads;
    setup.yields = spec.yields ? 1 : 0;
    setup.sandbox = options.sandbox == "off" ? 0 : 1;
    setup.memory_limit = static_cast<std::uint64_t>(options.memory_limit_mb) << 20;
    setup.input_bytes = inputs.bytes().size();
    setup.output_bytes = outputs.bytes().size();
    const Descriptor read_only = inputs.read_only();
    cgroup = make_cgroup(options, static_cast<std::uint64_t>(threads) + kSpareProcesses);
    process = spawn({.arguments = {environment.runner.string(), "run", cgroup.join_files()},
                     .environment = {"LC_ALL=C", "OMP_WAIT_POLICY=PASSIVE"},
                     .fds = {{control_memory.fd(), kControlFd}, {read_only.get(), kInputFd}, {outputs.fd(), kOutputFd}},
                     .folder = "/",
                     .same_addresses = true});
    ::clock_getcpuclockid(process.pid(), &cpu_clock);
  }

  std::string end_log() const {
    const int status = process.status();
    const int refused = control->refused_call;
    if (refused != 0) return fmt::format("used a system call that is not allowed: {}", call_name(refused));
    if (WIFSIGNALED(status) && control->fault_in_inputs != 0 && control->fault_signal != 0) {
      return describe_end(status) + " on writing to an input: inputs are read-only";
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 5) return "no memory for the buffers within the memory limit";
    if (WIFEXITED(status)) return fmt::format("ended the process (exit status {})", WEXITSTATUS(status));
    return "ended with " + describe_end(status);
  }

  RunnerFailure ended() const { return {MeasurementStatus::runtime_error, end_log()}; }

  // Spins until `signal` is `value`; looks at the clock now and then and at the process every millisecond.
  template <class IsReached>
  std::optional<RunnerFailure> wait_for(const IsReached& is_reached, double timeout_s, const char* what) {
    const Clock::time_point deadline = after(timeout_s);
    const Clock::time_point patience = after(kPatience);
    Clock::time_point look = after(0.001);
    for (;;) {
      for (int i = 0; i < 256; ++i) {
        if (is_reached()) return std::nullopt;
        yields ? static_cast<void>(::sched_yield()) : __builtin_ia32_pause();
      }
      const Clock::time_point now = Clock::now();
      if (now < look) continue;
      look = after(0.001);
      if (now > patience) std::this_thread::sleep_for(kNap);
      if (process.has_ended()) return is_reached() ? std::nullopt : std::optional(ended());
      if (now < deadline) continue;
      process.kill();
      return RunnerFailure{MeasurementStatus::timeout, fmt::format("{} took longer than {} s", what, timeout_s)};
    }
  }

  std::optional<RunnerFailure> block_until_done(std::uint32_t number) {
    const Clock::time_point deadline = after(options.run_timeout_s);
    const timespec slice{0, 10000000};
    for (;;) {
      const std::uint32_t seen = control->done.value.load(std::memory_order_acquire);
      if (seen == number) return std::nullopt;
      futex(control->done.value, FUTEX_WAIT, seen, &slice);
      if (control->done.value.load(std::memory_order_acquire) == number) return std::nullopt;
      if (process.has_ended()) return ended();
      if (Clock::now() < deadline) continue;
      process.kill();
      return RunnerFailure{MeasurementStatus::timeout,
                           fmt::format("a launch took longer than {} s", options.run_timeout_s)};
    }
  }

  SharedMemory control_memory;
  SharedMemory inputs;
  SharedMemory outputs;
  RunnerControl* control;
  HostOptions options;
  int threads;
  CoreHold* hold;
  bool yields;
  Cgroup cgroup;  // outlives the process
  ProcessGroup process;
  clockid_t cpu_clock = 0;
  std::uint32_t turn = 0;
  const void* last_kind = nullptr;
  std::size_t last_launches = 0;
  Clock::time_point announced;
  std::int64_t cpu_at_rest_ns = 0;  // when the last turn was over
  std::int64_t seen_ns = 0;         // of turns since then, where one thread's CPU time is bounded by the clock
  std::int64_t unseen_ns = 0;
  std::int64_t most_unseen_ns = 0;  // of it, between two turns

  std::int64_t cpu_ns() const {
    timespec time = {};
    if (::clock_gettime(cpu_clock, &time) != 0) return 0;
    return std::int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
  }
};

Runner::Runner(const CompileEnvironment& environment, const RunnerSpec& spec)
    : impl_(std::make_unique<Impl>(environment, spec)) {}
Runner::~Runner() = default;
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;

std::optional<RunnerFailure> Runner::wait_until_loaded() {
  Impl& self = *impl_;
  const auto state = [&] { return static_cast<RunnerState>(self.control->state.load(std::memory_order_acquire)); };
  // Loading takes milliseconds: sleep rather than take the core from the runner where there is only one.
  const Clock::time_point deadline = after(kLoadTimeout);
  while (state() == RunnerState::starting && !self.process.has_ended() && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  report_missing(self.options.sandbox, self.control->missing);
  if (state() == RunnerState::loaded) {
    self.cpu_at_rest_ns = self.cpu_ns();
    return std::nullopt;
  }
  if (state() == RunnerState::failed) {
    const char* text = self.control->message;
    return RunnerFailure{
        MeasurementStatus::runtime_error,
        "the library does not load: " + std::string(text, ::strnlen(text, sizeof self.control->message))};
  }
  if (self.process.has_ended()) return self.ended();
  self.process.kill();
  return RunnerFailure{MeasurementStatus::timeout, fmt::format("loading took longer than {} s", kLoadTimeout)};
}

bool Runner::has_ended() { return impl_->process.has_ended(); }

bool Runner::is_stopped() const { return impl_->process.is_stopped(); }

std::optional<RunnerFailure> Runner::announce(const TurnSpec& turn) {
  Impl& self = *impl_;
  RunnerControl& control = *self.control;
  control.launches = static_cast<std::uint32_t>(turn.launches);
  control.inputs = static_cast<std::uint32_t>(turn.input_offsets.size());
  control.outputs = static_cast<std::uint32_t>(turn.output_offsets.size());
  control.output_set_bytes = turn.output_set_bytes;
  const bool has_inputs = turn.kind != nullptr && turn.kind == self.last_kind;
  control.warm_launches = static_cast<std::uint32_t>(has_inputs ? std::min(turn.warm_launches, self.last_launches) : 0);
  self.last_kind = turn.kind;
  self.last_launches = turn.launches;
  std::copy(turn.sizes.begin(), turn.sizes.end(), control.sizes);
  for (std::size_t l = 0; l < turn.launches; ++l) {
    std::uint64_t* offsets = control.offsets[l];
    for (const std::size_t offset : turn.input_offsets) *offsets++ = l * turn.input_set_bytes + offset;
    for (const std::size_t offset : turn.output_offsets) *offsets++ = l * turn.output_set_bytes + offset;
  }
  const std::uint32_t number = ++self.turn;
  if (self.threads > 1) {
    const std::int64_t between = self.cpu_ns() - self.cpu_at_rest_ns;
    self.unseen_ns += between;
    self.most_unseen_ns = std::max(self.most_unseen_ns, between);
  }
  self.announced = Clock::now();
  control.turn.value.store(number, std::memory_order_release);
  futex(control.turn.value, FUTEX_WAKE, 1, nullptr);
  const bool warms = control.warm_launches > 0;
  return self.wait_for([&] { return control.ready.value.load(std::memory_order_acquire) == number; },
                       kAnnounceTimeout + (warms ? self.options.run_timeout_s : 0), warms ? "a launch" : "waking up");
}

std::optional<RunnerFailure> Runner::hand_over_outputs() {
  Impl& self = *impl_;
  RunnerControl& control = *self.control;
  const std::uint32_t number = self.turn;
  control.poisoned.value.store(number, std::memory_order_release);
  auto failure = self.wait_for([&] { return control.owned.value.load(std::memory_order_acquire) == number; },
                               kAnnounceTimeout, "taking its outputs");
  if (!failure && self.hold != nullptr) self.hold->hold();
  return failure;
}

bool Runner::warm_inputs(std::size_t bytes) {
  return impl_->hold != nullptr && impl_->hold->read(inputs().first(bytes));
}

std::optional<RunnerFailure> Runner::launch(std::int64_t& nanoseconds) {
  Impl& self = *impl_;
  RunnerControl& control = *self.control;
  const std::uint32_t number = self.turn;
  const Clock::time_point start = Clock::now();
  control.go.value.store(number, std::memory_order_release);
  if (self.hold != nullptr) self.hold->release();
  auto failure = self.threads > 1
                     ? self.block_until_done(number)
                     : self.wait_for([&] { return control.done.value.load(std::memory_order_acquire) == number; },
                                     self.options.run_timeout_s, "a launch");
  const Clock::time_point end = Clock::now();
  nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count();
  if (self.threads > 1) {
    std::this_thread::sleep_for(kRestAfterTurn);
    self.cpu_at_rest_ns = self.cpu_ns();
  } else {
    self.seen_ns += std::chrono::duration_cast<std::chrono::nanoseconds>(end - self.announced).count();
  }
  return failure;
}

std::optional<RunnerFailure> Runner::witness(std::int64_t& nanoseconds) {
  CoreHold* const hold = std::exchange(impl_->hold, nullptr);  // its end takes as long as what is looked for
  impl_->control->witness = 1;
  auto failure = announce({});
  if (!failure) failure = hand_over_outputs();
  if (!failure) failure = launch(nanoseconds);
  impl_->control->witness = 0;
  impl_->hold = hold;
  return failure;
}

std::span<std::byte> Runner::inputs() const { return impl_->inputs.bytes(); }
std::span<std::byte> Runner::outputs() const { return impl_->outputs.bytes(); }

// The system brings a process's CPU time up to date when its threads go to sleep, so it cannot be read within
// microseconds of a turn's end: for one thread the clock bounds it instead, several get a moment to come to rest.
// A thread that the machine stopped on its way to sleep is forgiven once.
std::int64_t Runner::unseen_cpu_ns() const {
  if (impl_->threads > 1) return impl_->unseen_ns - impl_->most_unseen_ns;
  return impl_->cpu_ns() - impl_->cpu_at_rest_ns - impl_->seen_ns;
}

}  // namespace kc
