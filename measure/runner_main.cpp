// The process that holds one candidate (`kernelcast-runner run`), and the one that puts limits on a compiler and then
// becomes it (`kernelcast-runner limit ...`), and tries for the doctor what isolation holds (`probe`). It decides
// nothing: clock, inputs, checks and secrets are the harness's.
#include <dlfcn.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "measure/isolation_probe.h"
#include "measure/runner_protocol.h"
#include "measure/runner_sandbox.h"

namespace kc {
namespace {

using Function = void (*)(const void*, const void* const*, void* const*);

RunnerControl* g_control = nullptr;
std::byte* g_inputs = nullptr;
std::byte* g_outputs = nullptr;

void fail(const char* message) {
  std::snprintf(g_control->message, sizeof g_control->message, "%s", message);
  g_control->state.store(static_cast<std::uint32_t>(RunnerState::failed));
  _exit(3);
}

// Notes what happened; the handler is gone by then, so that returning repeats the fault with its default action.
void on_fault(int signal, siginfo_t* info, void*) {
  g_control->fault_signal = signal;
  if (signal == SIGSYS) {
    g_control->refused_call = info->si_syscall;
    _exit(4);
  }
  const auto* address = static_cast<const std::byte*>(info->si_addr);
  g_control->fault_in_inputs = address >= g_inputs && address < g_inputs + g_control->setup.input_bytes;
}

void install_handlers() {
  static char stack[16384];
  const stack_t alternative{stack, 0, sizeof stack};
  sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGSEGV, SIGBUS, SIGSYS}) sigaction(signal, &action, nullptr);
}

void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, nullptr, nullptr, 0);
}

std::byte* map(int fd, std::size_t bytes, int protection) {
  void* memory = mmap(nullptr, bytes, protection, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (memory == MAP_FAILED) _exit(5);
  close(fd);
  return static_cast<std::byte*>(memory);
}

// Loaded before the root folder changes; a library that needs them then finds them by name.
void preload(bool threads) {
  for (const char* name : {"libm.so.6", "libmvec.so.1", "libstdc++.so.6", "libgcc_s.so.1"}) dlopen(name, RTLD_NOW);
  if (threads) dlopen("libgomp.so.1", RTLD_NOW);
}

void stay_on(int core) {
  if (core < 0) return;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
}

Function load_function() {
  const RunnerSetup& setup = g_control->setup;
  const bool inside = setup.sandbox != 0 && (g_control->missing & kNoFolder) == 0;
  const std::string path = (inside ? "" : std::string(setup.folder)) + "/" + setup.library;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(dlerror());
  void* symbol = dlsym(library, setup.function);
  if (symbol == nullptr) fail("the library does not define the function of the contract");
  return reinterpret_cast<Function>(symbol);
}

void pause_spinning(bool yields) {
  if (yields) {
    sched_yield();
  } else {
    __builtin_ia32_pause();
  }
}

struct Launches {
  std::uint32_t count = 0;
  std::int64_t sizes[kRunnerMaxSizes];
  const void* inputs[kRunnerMaxLaunches][kRunnerMaxTensors];
  void* outputs[kRunnerMaxLaunches][kRunnerMaxTensors];
};

void prepare(Launches& launches) {
  const RunnerControl& control = *g_control;
  launches.count = control.launches;
  std::memcpy(launches.sizes, control.sizes, sizeof launches.sizes);
  for (std::uint32_t l = 0; l < launches.count; ++l) {
    for (std::uint32_t i = 0; i < control.inputs; ++i) launches.inputs[l][i] = g_inputs + control.offsets[l][i];
    for (std::uint32_t o = 0; o < control.outputs; ++o) {
      launches.outputs[l][o] = g_outputs + control.offsets[l][control.inputs + o];
    }
  }
}

void own_outputs() {
  const std::uint64_t bytes = g_control->output_set_bytes * g_control->launches;
  for (std::uint64_t at = 0; at < bytes; at += 64) __builtin_prefetch(g_outputs + at, 1);
}

void launch(Function function, const Launches& launches, std::uint32_t count) {
  for (std::uint32_t l = 0; l < count; ++l) function(launches.sizes, launches.inputs[l], launches.outputs[l]);
}

// Work of some 15 us that fills the units of its core: vector multiplications and additions that do not wait for one
// another, loads from the first-level cache and integers beside them (measure/quiet_watch.h).
void witness() {
  constexpr int kSteps = 6000;
  static float values[1024];
  using Vector = float __attribute__((vector_size(16)));
  const auto* loads = reinterpret_cast<const Vector*>(values);
  Vector sums[8] = {};
  unsigned mixed = 1;
  for (int step = 0; step < kSteps; ++step) {
    const Vector* at = loads + (step & 63) * 4;
    for (int i = 0; i < 8; ++i) sums[i] = sums[i] * 0.999F + at[i & 3];
    mixed = mixed * 5 + static_cast<unsigned>(step);
    mixed ^= mixed >> 3U;
    asm volatile("" : "+r"(mixed));
  }
  for (Vector& sum : sums) asm volatile("" : "+x"(sum));
}

void wait_for(const Signal& signal, std::uint32_t turn, bool yields) {
  while (signal.value.load(std::memory_order_acquire) != turn) pause_spinning(yields);
}

void serve(Function function) {
  static Launches launches;
  const bool yields = g_control->setup.yields != 0;
  std::uint32_t turn = 0;
  for (;;) {
    while (g_control->turn.value.load(std::memory_order_acquire) == turn) {
      futex(g_control->turn.value, FUTEX_WAIT, turn);
    }
    if (g_control->quit != 0) _exit(0);
    turn = g_control->turn.value.load(std::memory_order_acquire);
    prepare(launches);
    launch(function, launches, std::min(g_control->warm_launches, launches.count));
    g_control->ready.value.store(turn, std::memory_order_release);
    wait_for(g_control->poisoned, turn, yields);
    own_outputs();
    g_control->owned.value.store(turn, std::memory_order_release);
    wait_for(g_control->go, turn, yields);  // the inputs do not exist before
    if (g_control->witness != 0) {
      witness();
    } else {
      launch(function, launches, launches.count);
    }
    g_control->done.value.store(turn, std::memory_order_release);
    if (g_control->setup.threads > 1) futex(g_control->done.value, FUTEX_WAKE, 1);
  }
}

int run(const char* cgroups) {
  join_cgroups(cgroups);
  g_control = reinterpret_cast<RunnerControl*>(map(kControlFd, sizeof(RunnerControl), PROT_READ | PROT_WRITE));
  const RunnerSetup& setup = g_control->setup;
  g_inputs = map(kInputFd, setup.input_bytes, PROT_READ);
  g_outputs = map(kOutputFd, setup.output_bytes, PROT_READ | PROT_WRITE);
  preload(setup.threads > 1);
  stay_on(setup.core);
  install_handlers();
  if (setup.sandbox != 0) {
    g_control->missing = enter_sandbox(setup);
  } else {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  const Function function = load_function();
  g_control->state.store(static_cast<std::uint32_t>(RunnerState::loaded));
  serve(function);
  return 0;
}

void limit(__rlimit_resource resource, const char* value) {
  const rlim_t number = std::strtoull(value, nullptr, 10);
  const rlimit both{number, number};
  setrlimit(resource, &both);
}

// limit CPU_SECONDS MEMORY_BYTES FILE_BYTES DROP_USER SANDBOX CGROUPS program arguments...; works in its folder
int run_limited(char** arguments) {
  join_cgroups(arguments[5]);
  const rlim_t seconds = std::strtoull(arguments[0], nullptr, 10);
  const rlimit processor{seconds, seconds + 1};  // the first ends it by SIGXCPU, which a compiler driver names
  setrlimit(RLIMIT_CPU, &processor);
  limit(RLIMIT_AS, arguments[1]);
  limit(RLIMIT_FSIZE, arguments[2]);
  limit(RLIMIT_CORE, "0");
  char folder[4096];
  if (arguments[4][0] == '1' && getcwd(folder, sizeof folder) != nullptr) enter_compiler_sandbox(folder, arguments[6]);
  if (arguments[3][0] == '1' && !become_nobody()) return 126;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  execv(arguments[6], arguments + 6);
  std::perror(arguments[6]);
  return 127;
}

}  // namespace

int run_program(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "run") == 0) return run(argv[2]);
  if (argc >= 9 && std::strcmp(argv[1], "limit") == 0) return run_limited(argv + 2);
  if (argc == 5 && std::strcmp(argv[1], "probe") == 0) return probe_isolation(argv[2], argv[3], argv[4]);
  std::fputs("kernelcast-runner: started by the measuring programs only\n", stderr);
  return 2;
}

}  // namespace kc

int main(int argc, char** argv) { return kc::run_program(argc, argv); }
