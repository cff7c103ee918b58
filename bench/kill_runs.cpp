#include "bench/kill_runs.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/rng.h"
#include "bench/endurance_task.h"
#include "dataset/journal.h"
#include "dataset/label_store.h"
#include "dataset/record.h"
#include "measure/process.h"

namespace kc {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kInstances = 400;  // of one file; then a new one is begun

// Descendants of `root` and the names of their programs.
std::map<pid_t, std::string> descendants(pid_t root) {
  std::map<pid_t, std::pair<pid_t, std::string>> all;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator("/proc", gone)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    std::ifstream status(entry.path() / "status");
    std::string name, key;
    pid_t parent = 0;
    while (status >> key) {
      if (key == "Name:") status >> name;
      if (key == "PPid:") status >> parent;
    }
    all[pid] = {parent, name};
  }
  std::map<pid_t, std::string> found = {{root, "harness"}};
  for (std::size_t before = 0; before != found.size();) {
    before = found.size();
    for (const auto& [pid, row] : all) {
      if (found.contains(row.first)) found.emplace(pid, row.second);
    }
  }
  return found;
}

class KillRuns {
 public:
  explicit KillRuns(const KillOptions& options) : options_(options), rng_(RngStream(options.seed).child("kills")) {
    fs::create_directories(folder_.path() / "tmp");
    for (const fs::path& part : {folder_.path(), folder_.path() / "tmp"}) {
      fs::permissions(part, fs::perms::others_exec | fs::perms::others_read, fs::perm_options::add);
    }
    make_endurance_task(folder_.path() / "tasks", kInstances);
  }
  ~KillRuns() { end_run(); }
  KillRuns(const KillRuns&) = delete;
  KillRuns& operator=(const KillRuns&) = delete;

  KillReport run() {
    const auto start = std::chrono::steady_clock::now();
    Progress progress("kills", static_cast<std::int64_t>(options_.kills), "kills");
    for (std::size_t k = 0; k < options_.kills;) {
      keep_running();
      std::this_thread::sleep_for(std::chrono::duration<double>(rng_.uniform() * options_.longest_pause_s));
      if (!kill_one()) continue;
      ++k;
      progress.advance();
    }
    progress.finish();
    end_run();
    finish_undisturbed();
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report_;
  }

 private:
  fs::path store() const { return folder_.path() / fmt::format("labels-{}.h5", files_); }

  std::vector<std::string> arguments(bool short_run) const {
    // A bench that is itself killed leaves no run behind that holds the machine.
    std::vector<std::string> list = {find_program("setpriv").string(),
                                     "--pdeathsig",
                                     "KILL",
                                     options_.measure.string(),
                                     "label",
                                     "--tasks",
                                     (folder_.path() / "tasks").string(),
                                     "--out",
                                     store().string(),
                                     "--set",
                                     "measure.time_budget_s=0.02"};
    if (short_run) list.insert(list.end(), {"--max-candidates", "4"});
    return list;
  }

  ProcessGroup start(bool short_run) {
    ++report_.runs;
    const char* path = std::getenv("PATH");
    return spawn({.arguments = arguments(short_run),
                  .environment = {std::string("PATH=") + (path == nullptr ? "/usr/bin:/bin" : path),
                                  "TMPDIR=" + (folder_.path() / "tmp").string()},
                  .fds = {},
                  .folder = {},
                  .same_addresses = false});
  }

  // A run that ended by itself had labelled everything: the next one gets another file.
  void keep_running() {
    if (harness_.pid() != 0 && !harness_.has_ended()) return;
    if (harness_started_ && finished_by_itself_) {
      check_kept();
      report_.labels += known_.size();
      known_.clear();
      ++files_;
    }
    harness_ = start(false);
    harness_started_ = true;
    finished_by_itself_ = true;
  }

  bool kill_one() {
    const pid_t root = harness_.pid();
    if (root == 0 || harness_.has_ended()) return false;
    const auto family = descendants(root);
    auto victim = family.begin();
    std::advance(victim, rng_.below(family.size()));
    if (victim->first != root) {
      if (::kill(victim->first, SIGKILL) != 0) return false;
      count(victim->second);
      return true;
    }
    ::kill(root, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    remember();
    finished_by_itself_ = false;
    end_run();
    ++report_.harness_kills;
    check_kept();
    open_in_h5py();
    report_.left_processes += count_survivors(family, root);
    return true;
  }

  // What is still there two seconds after its harness died.
  static std::size_t count_survivors(const std::map<pid_t, std::string>& family, pid_t root) {
    std::size_t alive = 0;
    for (int wait = 0; wait < 100; ++wait) {
      alive = 0;
      for (const auto& [pid, name] : family) alive += pid != root && is_alive(pid) ? 1 : 0;
      if (alive == 0) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return alive;
  }

  // Not a zombie that waits for whoever adopted it.
  static bool is_alive(pid_t pid) {
    std::ifstream status(fmt::format("/proc/{}/status", pid));
    for (std::string key, value; status >> key;) {
      if (key == "State:") return status >> value && value != "Z" && value != "X";
    }
    return false;
  }

  void count(const std::string& program) {
    if (program.starts_with("kernelcast-runn")) {
      ++report_.runner_kills;
    } else if (program == "cc1plus" || program == "as" || program == "ld" || program == "collect2" ||
               program.starts_with("g++")) {
      ++report_.compiler_kills;
    } else {
      ++report_.other_kills;
    }
  }

  void end_run() {
    harness_.kill();
    harness_ = ProcessGroup();
  }

  std::set<std::string> stored() {
    if (!fs::exists(store()) && !fs::exists(journal_path(store()))) return {};
    try {
      const std::vector<std::string> hashes = row_hashes(read_store(store()));
      return {hashes.begin(), hashes.end()};
    } catch (const Error& error) {
      ++report_.unreadable;
      report_.notes.push_back(error.what());
      return {};
    }
  }

  void remember() { known_.merge(stored()); }

  void check_kept() {
    const std::set<std::string> now = stored();
    for (const std::string& hash : known_) report_.lost += now.contains(hash) ? 0 : 1;
    known_.insert(now.begin(), now.end());
  }

  void open_in_h5py() {
    if (options_.python.empty() || !fs::exists(store())) return;
    const std::string command = fmt::format(
        "'{}' -c \"import h5py,sys; f=h5py.File(sys.argv[1]); assert len(f['measurements/kernel'][:]) == "
        "len(f['measurements/run'][:])\" '{}'",
        options_.python.string(), store().string());
    ++(std::system(command.c_str()) == 0 ? report_.h5py_opened : report_.h5py_refused);
  }

  // The next run takes away what killed ones left.
  void finish_undisturbed() {
    harness_ = start(true);
    while (!harness_.has_ended()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    check_kept();
    open_in_h5py();
    report_.labels += known_.size();
    for (const auto& entry : fs::directory_iterator(folder_.path() / "tmp")) {
      ++report_.left_files;
      report_.notes.push_back("left behind: " + entry.path().filename().string());
    }
  }

  KillOptions options_;
  TemporaryFolder folder_;
  RngStream rng_;
  KillReport report_;
  ProcessGroup harness_;
  bool harness_started_ = false;
  bool finished_by_itself_ = false;
  int files_ = 0;
  std::set<std::string> known_;  // hashes of rows of the current file that were finished
};

}  // namespace

KillReport run_kills(const KillOptions& options) { return KillRuns(options).run(); }

std::vector<std::string> faults_of(const KillReport& report) {
  std::vector<std::string> faults;
  const auto none = [&faults](const char* what, std::size_t count) {
    if (count > 0) faults.push_back(fmt::format("{} {}", count, what));
  };
  none("finished labels were lost", report.lost);
  none("times the store could not be read", report.unreadable);
  none("times h5py did not open the file", report.h5py_refused);
  none("processes outlived their harness", report.left_processes);
  none("temporary files were left after an undisturbed run", report.left_files);
  return faults;
}

std::string kill_text(const KillReport& report) {
  std::string text = fmt::format(
      "killed: {} harnesses, {} runners, {} compilers, {} others; {} runs, {} finished labels, {} lost, {} times "
      "unreadable, h5py opened the file {} times and refused {} times, in {:.1f} s\n",
      report.harness_kills, report.runner_kills, report.compiler_kills, report.other_kills, report.runs, report.labels,
      report.lost, report.unreadable, report.h5py_opened, report.h5py_refused, report.seconds);
  for (const std::string& note : report.notes) text += "note: " + note + "\n";
  for (const std::string& fault : faults_of(report)) text += "FAULT: " + fault + "\n";
  return text;
}

}  // namespace kc
