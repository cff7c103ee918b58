#include "measure/doctor_parts.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "base/error.h"
#include "measure/cgroup.h"
#include "measure/host_environment.h"
#include "measure/label_timing.h"
#include "measure/landlock.h"
#include "measure/machine.h"
#include "measure/process.h"
#include "measure/session.h"
#include "measure/statistics.h"

namespace kc {
namespace {

constexpr int kHeld = 0;  // exit codes of the probe
constexpr int kUnavailable = 2;
constexpr std::uint64_t kProbeMemory = 64 << 20;
constexpr std::uint64_t kProbeProcesses = 16;
constexpr std::chrono::seconds kPatience(10);

struct Part {
  const char* name;
  const char* probe;
  int signal;         // that ends the probe where the part works; 0: it exits
  bool is_essential;  // candidates are refused without it, or without its alternative
  const char* advice;
};

constexpr Part kParts[] = {
    {"namespaces", "namespaces", 0, false, "run as root, or allow user namespaces (kernel.unprivileged_userns_clone)"},
    {"root folder", "folder", 0, false, "run as root, or allow user namespaces; Landlock stands in for it"},
    {"Landlock", "landlock", 0, false, "a kernel from 5.13 on with lsm=landlock; the root folder stands in for it"},
    {"other user", "user", 0, false, "run as root, or as a user who owns nothing"},
    {"system call filter", "filter", SIGSYS, true, "a kernel with CONFIG_SECCOMP_FILTER"},
    {"address space limit", "limits", 0, true, "a kernel that honours RLIMIT_AS"},
    {"memory control group", "cgroup-memory", SIGKILL, false, "delegate the memory controller; RLIMIT_AS stands in"},
    {"process control group", "cgroup-pids", 0, false, "delegate the pids controller; the call filter stands in"},
};

constexpr int kTrials = 7;
constexpr double kQuietLog2 = 0.015;
constexpr double kQuietShare = 0.05;

constexpr const char* kTrialKernel = R"(void NAME(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* x = (const float*)inputs[0];
  TYPE* y = (TYPE*)outputs[0];
  for (long long i = 0; i < c->N; ++i) y[i] = (TYPE)2 * x[i] + (TYPE)1;
}
)";

std::string trial_kernel(const std::string& name, const std::string& type) {
  std::string text = kTrialKernel;
  for (std::size_t at; (at = text.find("NAME")) != std::string::npos;) text.replace(at, 4, name);
  for (std::size_t at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, type);
  return text;
}

TaskPack trial_pack() {
  TaskPack pack;
  pack.name = "doctor";
  pack.size_names = {"N"};
  pack.cases = {{"trial", {{"N", 16384}}}};
  pack.inputs = {{"x", DataType::f32, "N", "normal", {}, "", {}}};
  pack.outputs = {{"y", DataType::f32, "N", "", {}, "", {}}};
  pack.tolerance = {.relative = 1e-6, .absolute = 1e-6, .reason = "two roundings"};
  pack.reference_source = trial_kernel("reference", "double");
  pack.compiler_flags = {"-O2"};
  pack.work = "N";
  pack.seed = {"cpp", "", trial_kernel("run", "float"), {}};
  pack.seed_name = "trial.cpp";
  return pack;
}

struct Trial {
  double noise_log2;
  RoundTally rounds;
};

Trial try_timing(const HostOptions& options, const std::stop_token& stop) {
  const TaskPack pack = trial_pack();
  const TemporaryFolder folder;
  const CompileEnvironment environment = make_compile_environment(options, folder);
  const HostTask task = prepare_task(environment, pack, folder.path(), stop);
  const CorePair cores = choose_cores();
  const DeviceLock lock(stop);
  const TimingThread thread(cores.harness, options.real_time);
  Session session(environment, task, cores, RngStream(1), stop);
  std::vector<double> noise;
  for (int i = 0; i < kTrials; ++i) noise.push_back(session.measure_noise(stop));
  return {median_of(noise), task.watch->remembered()};
}

DoctorLine noise_line(double noise_log2) {
  const std::string detail = fmt::format("a kernel against itself in another process: {:.2f} % apart (median of {})",
                                         100 * (std::exp2(noise_log2) - 1), kTrials);
  if (noise_log2 < kQuietLog2) return {"noise", DoctorState::ok, detail, ""};
  return {"noise", DoctorState::warning, detail, "end other programs; labels will have wide intervals"};
}

DoctorLine shared_core_line(const RoundTally& rounds) {
  const double share = rounds.disturbed_share();
  const bool is_virtual = is_virtual_machine();
  const std::string detail =
      fmt::format("{:.0f} % of {} rounds were timed while somebody else used the core{}", 100 * share, rounds.kept,
                  is_virtual ? "; a virtual machine, whose neighbours cannot all be seen" : "");
  if (share < kQuietShare && !is_virtual) return {"core", DoctorState::ok, detail, ""};
  const double times = std::exp2(session_halfwidth(is_virtual ? 1 : share));
  return {"core", DoctorState::warning, detail,
          fmt::format("intervals of labels reach a factor of {:.2f} either way; end other programs, switch the core's "
                      "second thread off, or take a machine whose cores nobody shares",
                      times)};
}

// Exit code, or kUnavailable; `killed_as_hoped` is a success.
int run_probe(const std::filesystem::path& runner, const Part& part, const std::filesystem::path& folder,
              const Cgroup& cgroup) {
  ProcessGroup process =
      spawn({.arguments = {runner.string(), "probe", part.probe, folder.string(), cgroup.join_files()},
             .environment = {"LC_ALL=C"},
             .fds = {},
             .folder = "/",
             .same_addresses = false});
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!process.has_ended()) {
    if (std::chrono::steady_clock::now() > deadline) return kUnavailable;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const int status = process.status();
  if (WIFSIGNALED(status)) return part.signal != 0 && WTERMSIG(status) == part.signal ? kHeld : kUnavailable;
  return part.signal != 0 && WEXITSTATUS(status) == kHeld ? kUnavailable : WEXITSTATUS(status);
}

DoctorLine line_of(const Part& part, int code) {
  if (code == kHeld) {
    const bool landlock = std::string_view(part.probe) == "landlock";
    return {part.name, DoctorState::ok,
            landlock ? fmt::format("tried, holds (ABI {})", landlock_abi()) : "tried, holds", ""};
  }
  const std::string detail = code == kUnavailable ? "cannot be had here" : "put in place, but does not hold";
  return {part.name, part.is_essential ? DoctorState::missing : DoctorState::warning, detail, part.advice};
}

}  // namespace

std::vector<DoctorLine> isolation_lines(const HostOptions& options) {
  std::vector<DoctorLine> lines;
  if (options.sandbox == "off") {
    lines.push_back(
        {"isolation", DoctorState::warning, "switched off (measure.sandbox)", "measure only sources that you trust"});
  }
  try {
    const std::filesystem::path runner = find_runner();
    const TemporaryFolder folder;
    for (const Part& part : kParts) {
      Cgroup cgroup;
      if (std::string_view(part.probe).starts_with("cgroup")) cgroup = Cgroup(kProbeMemory, kProbeProcesses);
      lines.push_back(line_of(part, run_probe(runner, part, folder.path(), cgroup)));
    }
  } catch (const Error& error) {
    lines.push_back({"isolation", DoctorState::missing, error.what(), "see the line above"});
  }
  return lines;
}

std::vector<DoctorLine> trial_lines(const HostOptions& options, const std::stop_token& stop) {
  try {
    const Trial trial = try_timing(options, stop);
    return {noise_line(trial.noise_log2), shared_core_line(trial.rounds)};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted) throw;
    return {{"noise", DoctorState::missing, error.what(), "measuring does not work here: see the other lines"}};
  }
}

}  // namespace kc
