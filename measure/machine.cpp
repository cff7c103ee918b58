#include "measure/machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"

namespace kc {
namespace {

// Package and core: equal for the hardware threads of one core.
std::string physical_core(int cpu) {
  std::string name;
  for (const char* key : {"physical_package_id", "core_id"}) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/{}", cpu, key));
    std::string value = "?";
    std::getline(file, value);
    name += value + "/";
  }
  return name;
}

// The kernel's own reading, or what the processor reported when /proc/cpuinfo was read.
double frequency_mhz(int core, const std::filesystem::path& root) {
  std::ifstream scaling(root / fmt::format("sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", core));
  if (double khz = 0; scaling >> khz) return khz / 1000;
  std::ifstream cpuinfo(root / "proc/cpuinfo");
  int processor = -1;
  for (std::string line; std::getline(cpuinfo, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    if (line.starts_with("processor")) processor = std::atoi(line.c_str() + colon + 1);
    if (line.starts_with("cpu MHz") && processor == core) return std::atof(line.c_str() + colon + 1);
  }
  return 0;
}

Descriptor lock_folder(const std::filesystem::path& folder, MachineUse use, const std::stop_token& stop) {
  Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int kind = use == MachineUse::alone ? LOCK_EX : LOCK_SH;
  bool told = false;
  while (lock && ::flock(lock.get(), kind | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw_if_stopped(stop);
    if (!std::exchange(told, true)) log::info("waiting for another program that measures on this machine");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return lock;
}

}  // namespace

Facts machine_facts(int core, const std::filesystem::path& root) {
  Facts facts;
  std::ifstream loads(root / "proc/loadavg");
  if (double load = 0; loads >> load) facts["load_1min"] = load;
  if (const double mhz = frequency_mhz(std::max(core, 0), root); mhz > 0) facts["frequency_mhz"] = mhz;
  return facts;
}

std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

bool is_virtual_machine() {
  static const bool is_virtual = [] {  // asked for every label; the system makes the text anew for each reader
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("flags")) return (line + " ").find(" hypervisor ") != std::string::npos;
    }
    return std::filesystem::exists("/sys/hypervisor/type");
  }();
  return is_virtual;
}

std::string program_version(const std::filesystem::path& program) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(ErrorKind::environment, "cannot make a pipe: too many open files");
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  ProcessGroup process = spawn({.arguments = {program.string(), "--version"},
                                .environment = {"LC_ALL=C", "PATH=/usr/bin:/bin"},
                                .fds = {{ends[1], 1}},
                                .folder = {},
                                .same_addresses = false});
  writing = Descriptor();
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = ::read(reading.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  return text.substr(0, text.find('\n'));
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::uint64_t secret_seed() {
  std::uint64_t seed = 0;
  if (::getentropy(&seed, sizeof seed) != 0) throw Error(ErrorKind::environment, "the system gives no random bytes");
  return seed;
}

std::string random_run_id() {
  unsigned char bytes[8];
  if (::getentropy(bytes, sizeof bytes) != 0) throw Error(ErrorKind::environment, "the system gives no random bytes");
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

CorePair choose_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {};
  std::vector<int> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cores.push_back(cpu);
  }
  if (cores.size() == 1) return {cores[0], cores[0], true};
  for (std::size_t i = 1; i < cores.size(); ++i) {
    if (physical_core(cores[i]) != physical_core(cores[0])) return {cores[0], cores[i], false};
  }
  return {cores[0], cores[1], false};
}

DeviceLock::DeviceLock(const std::stop_token& stop, MachineUse use, const std::filesystem::path& root) {
  // Held while waiting only: behind somebody who waits to be alone, newcomers wait as well.
  const Descriptor gate = lock_folder(root, use, stop);
  cores_ = lock_folder(root / "cpu", use, stop);
}

TimingThread::TimingThread(int core, bool real_time) {
  const sched_param lowest{1};
  const bool ordinary = ::sched_getscheduler(0) == SCHED_OTHER;
  real_time_ = real_time && ordinary && ::sched_setscheduler(0, SCHED_FIFO, &lowest) == 0;
  if (core < 0 || ::sched_getaffinity(0, sizeof cores_before_, &cores_before_) != 0) return;
  pinned_ = stay_on_core(core);
}

TimingThread::~TimingThread() {
  const sched_param none{0};
  if (real_time_) ::sched_setscheduler(0, SCHED_OTHER, &none);
  if (pinned_) ::sched_setaffinity(0, sizeof cores_before_, &cores_before_);
}

}  // namespace kc
