#include "measure/doctor.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>

#include "base/error.h"
#include "measure/doctor_parts.h"
#include "measure/machine.h"
#include "measure/process.h"
#include "measure/statistics.h"

namespace kc {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

DoctorLine compiler_line(const HostOptions& options) {
  try {
    const auto path = find_program(options.compiler);
    return {"compiler", DoctorState::ok, fmt::format("{}: {}", path.string(), program_version(path)), ""};
  } catch (const Error& error) {
    return {"compiler", DoctorState::missing, error.what(), "install g++, or set measure.compiler"};
  }
}

DoctorLine runner_line() {
  try {
    return {"runner program", DoctorState::ok, find_runner().string(), ""};
  } catch (const Error& error) {
    return {"runner program", DoctorState::missing, error.what(), "keep kernelcast-runner beside the programs"};
  }
}

DoctorLine cores_line() {
  const CorePair cores = choose_cores();
  const unsigned count = std::thread::hardware_concurrency();
  if (cores.shared) {
    return {"cores", DoctorState::warning, "1 core: harness and candidate share it",
            "allow two cores: timings on one are wide"};
  }
  return {
      "cores", DoctorState::ok,
      fmt::format("{} ({}); harness on {}, candidates on {}", count, processor_model(), cores.harness, cores.runner),
      ""};
}

DoctorLine frequency_line() {
  const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/", std::max(choose_cores().runner, 0));
  const std::string governor = first_line(folder + "scaling_governor");
  if (governor.empty()) {
    return {"clock frequency", DoctorState::warning, "not visible (a virtual machine, or no cpufreq driver)",
            "ratios cancel most of its changes; absolute times may drift"};
  }
  const double mhz = std::strtod(first_line(folder + "scaling_cur_freq").c_str(), nullptr) / 1000;
  const std::string detail = fmt::format("governor {}, now {:.0f} MHz", governor, mhz);
  if (governor == "performance") return {"clock frequency", DoctorState::ok, detail, ""};
  return {"clock frequency", DoctorState::warning, detail, "set the governor 'performance' (cpupower, as root)"};
}

DoctorLine load_line() {
  double load[1] = {0};
  if (::getloadavg(load, 1) != 1) return {"load", DoctorState::warning, "unknown", "is /proc mounted?"};
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  const std::string detail = fmt::format("{:.2f} over the last minute, {:.0f} cores", load[0], cores);
  if (load[0] < 0.5 * cores) return {"load", DoctorState::ok, detail, ""};
  return {"load", DoctorState::warning, detail, "intervals will be wider while other programs run"};
}

DoctorLine timer_line() {
  using Clock = std::chrono::steady_clock;
  std::vector<double> steps;
  for (int i = 0; i < 1000; ++i) {
    const auto start = Clock::now();
    auto end = Clock::now();
    while (end == start) end = Clock::now();
    steps.push_back(std::chrono::duration<double, std::nano>(end - start).count());
  }
  const double step = median_of(steps);
  const std::string source = first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  const std::string detail = fmt::format("{:.0f} ns between readings, clock source {}", step, source);
  if (step <= 200) return {"timer resolution", DoctorState::ok, detail, ""};
  return {"timer resolution", DoctorState::warning, detail, "choose the clock source tsc (kernel parameter)"};
}

DoctorLine real_time_line(const HostOptions& options) {
  if (!options.real_time) return {"real-time priority", DoctorState::warning, "switched off", "set measure.real_time"};
  bool allowed = false;
  std::thread([&] {
    const sched_param lowest{1};
    allowed = ::sched_setscheduler(0, SCHED_FIFO, &lowest) == 0;
  }).join();
  if (allowed) return {"real-time priority", DoctorState::ok, "allowed", ""};
  return {"real-time priority", DoctorState::warning, "not allowed",
          "run as root or raise RLIMIT_RTPRIO; keep the machine free of other work otherwise"};
}

DoctorLine addresses_line() {
  constexpr unsigned long kQuery = 0xffffffff;
  const int before = ::personality(kQuery);
  bool fixed = false;
  if (before >= 0 && ::personality(static_cast<unsigned long>(before) | ADDR_NO_RANDOMIZE) >= 0) {
    fixed = (::personality(kQuery) & ADDR_NO_RANDOMIZE) != 0;
    ::personality(static_cast<unsigned long>(before));
  }
  const std::string system = first_line("/proc/sys/kernel/randomize_va_space");
  if (fixed) {
    return {"address randomisation", DoctorState::ok, fmt::format("off in runners (system: {})", system), ""};
  }
  return {"address randomisation", DoctorState::warning, fmt::format("cannot be switched off (system: {})", system),
          "allow the system call personality; ratios vary more between processes"};
}

DoctorLine huge_pages_line() {
  const std::string mode = first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  if (mode.empty()) return {"huge pages", DoctorState::ok, "no transparent huge pages", ""};
  if (mode.find("[always]") == std::string::npos && mode.find("[force]") == std::string::npos) {
    return {"huge pages", DoctorState::ok, "shared buffers lie in small pages: " + mode, ""};
  }
  return {"huge pages", DoctorState::warning, "shared buffers lie in huge pages or not, as memory allows: " + mode,
          "write 'never' to /sys/kernel/mm/transparent_hugepage/shmem_enabled"};
}

DoctorLine disk_line() {
  std::error_code fault;
  const auto folder = std::filesystem::temp_directory_path(fault);
  struct statvfs info = {};
  if (fault || ::statvfs(folder.c_str(), &info) != 0) {
    return {"temporary folder", DoctorState::missing, "none", "set TMPDIR to a folder that can be written"};
  }
  const double free_gb = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize) / 1e9;
  const std::string detail = fmt::format("{:.1f} GB free in {}", free_gb, folder.string());
  if (free_gb >= 1) return {"temporary folder", DoctorState::ok, detail, ""};
  return {"temporary folder", free_gb < 0.1 ? DoctorState::missing : DoctorState::warning, detail,
          "free some space, or set TMPDIR"};
}

}  // namespace

std::string_view name_of(DoctorState state) {
  switch (state) {
    case DoctorState::ok:
      return "ok";
    case DoctorState::warning:
      return "warning";
    case DoctorState::missing:
      return "missing";
  }
  return "?";
}

std::vector<DoctorLine> host_doctor(const HostOptions& options, const std::stop_token& stop) {
  std::vector<DoctorLine> lines = {compiler_line(options), runner_line()};
  const bool can_measure = std::all_of(lines.begin(), lines.end(),
                                       [](const DoctorLine& line) { return line.state != DoctorState::missing; });
  for (DoctorLine& line : isolation_lines(options)) lines.push_back(std::move(line));
  for (const DoctorLine& line : {cores_line(), frequency_line(), load_line(), timer_line(), real_time_line(options),
                                 addresses_line(), huge_pages_line(), disk_line()}) {
    lines.push_back(line);
  }
  if (!can_measure) return lines;
  for (DoctorLine& line : trial_lines(options, stop)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace kc
