#include "bench/soak.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include "base/progress.h"
#include "base/rng.h"
#include "bench/endurance_task.h"
#include "measure/host_device.h"
#include "measure/machine.h"
#include "measure/process.h"

namespace kc {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChunk = 64;
constexpr double kAllowedGrowthMb = 16;

// Every process and its parent.
std::map<pid_t, pid_t> all_processes() {
  std::map<pid_t, pid_t> rows;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator("/proc", gone)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    std::ifstream status(entry.path() / "status");
    for (std::string key; status >> key;) {
      if (key == "PPid:") status >> rows[pid];
    }
  }
  return rows;
}

std::size_t count_processes() {
  const auto rows = all_processes();
  const auto is_ours = [&rows](pid_t pid) {
    while (pid > 1) {
      const auto row = rows.find(pid);
      if (row == rows.end()) return false;
      pid = row->second;
      if (pid == ::getpid()) return true;
    }
    return false;
  };
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const auto& row) { return is_ours(row.first); }));
}

std::size_t count_files(const fs::path& root, const std::string& prefix) {
  std::size_t count = 0;
  std::error_code gone;
  for (auto it = fs::recursive_directory_iterator(root, fs::directory_options::skip_permission_denied, gone);
       !gone && it != fs::recursive_directory_iterator(); it.increment(gone)) {
    if (it->path().filename().string().starts_with(prefix)) ++count;
  }
  return count;
}

double resident_mb() {
  std::ifstream statm("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  statm >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

Footprint footprint(const fs::path& temporary) {
  Footprint print;
  print.processes = count_processes();
  print.files = count_files(temporary, "") + count_files("/dev/shm", "kernelcast");
  for (const char* root : {"/sys/fs/cgroup"})
    print.files += count_files(root, fmt::format("kernelcast-{}-", ::getpid()));
  std::error_code gone;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd", gone)) ++print.descriptors;
  print.resident_mb = resident_mb();
  return print;
}

// Every candidate is another text, so that nothing is answered from memory.
std::vector<Candidate> draw_candidates(const TaskPack& task, const SoakOptions& options) {
  const std::vector<Candidate> honest = list_candidates(task);
  RngStream rng = RngStream(options.seed).child("soak");
  std::vector<Candidate> drawn;
  for (std::size_t i = 0; i < options.candidates; ++i) {
    drawn.push_back(rng.uniform() < options.hostile_share ? hostile_candidate(i) : honest[i]);
  }
  return drawn;
}

void count(SoakReport& report, const Measurement& measurement) {
  ++report.by_status[static_cast<std::size_t>(measurement.status)];
  const bool hostile = measurement.kernel_name.starts_with("hostile");
  const bool ok = measurement.status == MeasurementStatus::ok;
  if (hostile == !ok) return;
  ++(hostile ? report.hostile_ok : report.honest_failures);
  if (report.surprises.size() < 10) {
    report.surprises.push_back(
        fmt::format("{}: {} {}", measurement.kernel_name, name_of(measurement.status), measurement.log.substr(0, 200)));
  }
}

HostOptions soak_options() {
  HostOptions options;
  options.run_timeout_s = 0.3;
  options.compile_timeout_s = 5;
  options.time_budget_s = 0.05;
  options.memory_limit_mb = 512;
  return options;
}

void measure_all(const TaskPack& task, const SoakOptions& options, const fs::path& temporary, SoakReport& report) {
  const auto measurer = make_host_measurer(soak_options(), secret_seed());
  const std::vector<Candidate> candidates = draw_candidates(task, options);
  Progress progress("soak", static_cast<std::int64_t>(candidates.size()), "candidates");
  for (std::size_t first = 0; first < candidates.size(); first += kChunk) {
    std::vector<MeasureRequest> requests;
    for (std::size_t i = first; i < std::min(first + kChunk, candidates.size()); ++i) {
      requests.push_back({&task, candidates[i]});
    }
    measurer->measure(requests,
                      [&](std::size_t, const Measurement& measurement) {
                        count(report, measurement);
                        progress.advance();
                      },
                      {});
    const bool warmed = first <= candidates.size() / 10;
    if (warmed) report.warm = footprint(temporary);
  }
  progress.finish();
  report.after.resident_mb = resident_mb();  // with the device still there
}

}  // namespace

SoakReport run_soak(const SoakOptions& options) {
  SoakReport report;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans of a killed process become ours, and count
  const TemporaryFolder own;
  const fs::path temporary = own.path() / "tmp";
  fs::create_directories(temporary);
  for (const fs::path& folder : {own.path(), temporary}) {
    fs::permissions(folder, fs::perms::others_exec | fs::perms::others_read, fs::perm_options::add);
  }
  const char* before = std::getenv("TMPDIR");
  const std::string saved = before == nullptr ? "" : before;
  ::setenv("TMPDIR", temporary.c_str(), 1);
  const TaskPack task = make_endurance_task(own.path() / "tasks", options.candidates + 1);
  report.before = footprint(temporary);
  const auto start = std::chrono::steady_clock::now();
  measure_all(task, options, temporary, report);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double resident = report.after.resident_mb;
  report.after = footprint(temporary);
  report.after.resident_mb = std::max(resident, report.after.resident_mb);
  if (saved.empty()) {
    ::unsetenv("TMPDIR");
  } else {
    ::setenv("TMPDIR", saved.c_str(), 1);
  }
  return report;
}

std::vector<std::string> faults_of(const SoakReport& report) {
  std::vector<std::string> faults;
  const auto same = [&faults](const char* what, std::size_t before, std::size_t after) {
    if (after > before) faults.push_back(fmt::format("{}: {} before, {} after", what, before, after));
  };
  same("processes", report.before.processes, report.after.processes);
  same("files", report.before.files, report.after.files);
  same("descriptors", report.before.descriptors, report.after.descriptors);
  if (report.after.resident_mb > report.warm.resident_mb + kAllowedGrowthMb) {
    faults.push_back(fmt::format("memory: {:.1f} MB after the first tenth, {:.1f} MB at the end",
                                 report.warm.resident_mb, report.after.resident_mb));
  }
  if (report.hostile_ok > 0) faults.push_back(fmt::format("{} hostile candidates were called ok", report.hostile_ok));
  if (report.honest_failures > 0) faults.push_back(fmt::format("{} honest candidates failed", report.honest_failures));
  return faults;
}

std::string soak_text(const SoakReport& report) {
  std::string text;
  std::size_t all = 0;
  for (int s = 0; s < kMeasurementStatuses; ++s) {
    all += report.by_status[s];
    text += fmt::format("{} {}, ", report.by_status[s], name_of(static_cast<MeasurementStatus>(s)));
  }
  text += fmt::format("in {:.1f} s, {:.3f} s a candidate\n", report.seconds,
                      report.seconds / static_cast<double>(std::max<std::size_t>(all, 1)));
  for (const auto& [when, print] :
       {std::pair("before", report.before), {"first tenth", report.warm}, {"after", report.after}}) {
    text += fmt::format("{:<12} {} processes, {} files, {} descriptors, {:.1f} MB resident\n", when, print.processes,
                        print.files, print.descriptors, print.resident_mb);
  }
  for (const std::string& line : report.surprises) text += "surprise: " + line + "\n";
  for (const std::string& fault : faults_of(report)) text += "FAULT: " + fault + "\n";
  return text;
}

}  // namespace kc
