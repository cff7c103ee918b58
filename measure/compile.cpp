#include "measure/compile.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "measure/cgroup.h"
#include "measure/isolation.h"
#include "measure/process.h"
#include "measure/runner_sandbox.h"

namespace kc {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kKeptOutput = 16 * kLogExcerpt;
constexpr std::uint64_t kSpareDisk = 64 << 20;  // a message alone proves nothing: candidates write messages

// A compiler may wait that much longer for a processor than it may use one: on a busy machine honest sources do.
constexpr double kWaitShare = 4;
// In g++'s words, when a part of it ends by SIGXCPU or SIGXFSZ.
constexpr const char* kOutOfTime = "CPU time limit exceeded";
constexpr const char* kOutOfRoom = "File size limit exceeded";
constexpr const char* kStandard = "-std=c++17";
constexpr const char* kStandardOfC = "-std=c17";
constexpr const char* kFixedFlags[] = {"-shared", "-fPIC"};

std::string source_name(const CompileJob& job) { return job.language == "c" ? "kernel.c" : "kernel.cpp"; }

fs::path compiler_of(const CompileEnvironment& environment, const CompileJob& job) {
  if (!job.program.empty()) return job.program;
  if (job.language != "c") return environment.compiler;
  if (!environment.c_compiler.empty()) return environment.c_compiler;
  throw Error(ErrorKind::environment,
              fmt::format("no program '{}' on PATH to compile a C source: install it, or set measure.c_compiler",
                          environment.options.c_compiler));
}

constexpr std::uint64_t kCompilerProcesses = 32;

struct Running {
  std::size_t index = 0;
  Cgroup cgroup;  // outlives the process
  ProcessGroup process;
  Descriptor output;
  std::string log;
  std::size_t log_bytes = 0;
  Clock::time_point deadline;
};

std::string excerpt(std::string log, const fs::path& folder) {
  const std::string hidden = folder.string() + "/";
  for (std::size_t at = log.find(hidden); at != std::string::npos; at = log.find(hidden, at))
    log.erase(at, hidden.size());
  if (log.size() > kLogExcerpt) log.resize(kLogExcerpt);
  for (char& c : log) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') c = '?';
  }
  return log;
}

std::vector<std::string> command_line(const CompileEnvironment& environment, const CompileJob& job,
                                      const Cgroup& cgroup) {
  const HostOptions& options = environment.options;
  std::vector<std::string> arguments = {environment.runner.string(),
                                        "limit",
                                        fmt::format("{:.0f}", std::ceil(options.compile_timeout_s)),
                                        std::to_string(options.memory_limit_mb << 20),
                                        std::to_string(options.output_limit_mb << 20),
                                        environment.drop_user ? "1" : "0",
                                        options.sandbox == "off" ? "0" : "1",
                                        cgroup.join_files(),
                                        compiler_of(environment, job).string(),
                                        job.language == "c" ? kStandardOfC : kStandard};
  arguments.insert(arguments.end(), std::begin(kFixedFlags), std::end(kFixedFlags));
  arguments.insert(arguments.end(), job.flags.begin(), job.flags.end());
  arguments.insert(arguments.end(), {"-Wl,-z,defs", "-Wl,--require-defined=" + job.function, "-pipe", "-o",
                                     kLibraryName, source_name(job)});
  return arguments;
}

Running start(const CompileEnvironment& environment, const CompileJob& job, std::size_t index) {
  std::error_code fault;
  fs::create_directories(job.folder, fault);
  write_plain_file(job.folder / source_name(job), job.unit);
  if (environment.drop_user && ::chown(job.folder.c_str(), kNobody, kNobody) != 0) {
    throw Error(ErrorKind::environment, fmt::format("{}: cannot give the folder away", job.folder.string()));
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(ErrorKind::environment, "cannot make a pipe: too many open files");
  Running running;
  running.index = index;
  running.output = Descriptor(ends[0]);
  const Descriptor writing(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  const char* path = std::getenv("PATH");
  SpawnSpec spec;
  running.cgroup = make_cgroup(environment.options, kCompilerProcesses);
  spec.arguments = command_line(environment, job, running.cgroup);
  spec.environment = {std::string("PATH=") + (path != nullptr ? path : "/usr/bin:/bin"), "LC_ALL=C",
                      "TMPDIR=" + job.folder.string(), "HOME=" + job.folder.string()};
  spec.fds = {{ends[1], 1}, {ends[1], 2}};
  spec.folder = job.folder;
  running.process = spawn(spec);
  running.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                                        kWaitShare * environment.options.compile_timeout_s));
  return running;
}

void read_output(Running& running) {
  char buffer[16384];
  for (ssize_t count = 1; count > 0;) {
    count = ::read(running.output.get(), buffer, sizeof buffer);
    if (count <= 0) continue;
    running.log_bytes += static_cast<std::size_t>(count);
    const std::size_t room = kKeptOutput - std::min(kKeptOutput, running.log.size());
    running.log.append(buffer, std::min(room, static_cast<std::size_t>(count)));
  }
}

// Whether a line begins as a driver's own messages do ("g++: internal compiler error: "): those about a source begin
// with its name and a line, and what they quote of it may be any words.
bool speaks_for_itself(std::string_view line) {
  const std::size_t end = line.find_first_of(": ");
  return end != std::string_view::npos && end > 0 && line.substr(end).starts_with(": ") &&
         line.find("error: ") != std::string_view::npos;
}

// Which of our limits ended a part of the compiler, or nothing. Takes what it then says itself out of the log: it takes
// that for its own fault, and asks for a report of it.
std::string take_reached_limit(const HostOptions& options, std::string& log) {
  const std::pair<const char*, std::string> limits[] = {
      {kOutOfTime, fmt::format("the compiler was stopped after {} s of processor time\n", options.compile_timeout_s)},
      {kOutOfRoom, fmt::format("the compiler was stopped because it wrote a file of more than {} MB "
                               "({})\n",
                               options.output_limit_mb, kBeyondOutputLimit)}};
  for (const auto& [words, limit] : limits) {
    for (std::size_t at = log.find(words); at != std::string::npos; at = log.find(words, at + 1)) {
      const std::size_t begin = log.rfind('\n', at) + 1;  // 0 where there is no line before
      if (!speaks_for_itself(std::string_view(log).substr(begin, at - begin))) continue;
      log.resize(begin);
      return limit;
    }
  }
  return "";
}

// The result once the compiler has ended or must be stopped.
bool poll_result(const HostOptions& options, const CompileJob& job, Running& running, CompileResult& result) {
  read_output(running);
  std::string stopped;
  const bool ended = running.process.has_ended();
  if (!ended && Clock::now() > running.deadline) {
    stopped = fmt::format("the compiler was stopped after {} s\n", kWaitShare * options.compile_timeout_s);
  } else if (!ended && running.log_bytes > static_cast<std::size_t>(options.output_limit_mb) << 20) {
    stopped = fmt::format("the compiler was stopped after {} MB of messages\n", options.output_limit_mb);
  } else if (!ended) {
    return false;
  }
  running.process.kill();
  read_output(running);
  const int status = running.process.status();
  result.ok = stopped.empty() && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (result.ok) return true;
  if (stopped.empty()) stopped = take_reached_limit(options, running.log);
  if (stopped.empty() && WIFSIGNALED(status)) stopped = "the compiler ended with " + describe_end(status) + "\n";
  result.log = excerpt(stopped + running.log, job.folder);
  return true;
}

void require_healthy_disk(const CompileJob& job, const CompileResult& result) {
  if (result.ok) return;
  const bool said_so = result.log.find("No space left on device") != std::string::npos;
  require_free_space(job.folder, said_so ? kSpareDisk : 1 << 16);
}

}  // namespace

CompileJob candidate_job(const TaskPack& pack, const Candidate& candidate, const fs::path& folder) {
  CompileJob job{candidate_unit(pack, candidate), "run", pack.compiler_flags, folder, candidate.kernel.language};
  const std::string& program = job.language == "c" ? pack.c_compiler : pack.compiler;
  if (!program.empty()) job.program = find_program(program);
  return job;
}

std::vector<std::string> reference_flags(const TaskPack& pack) {
  std::vector<std::string> flags = {"-O3"};
  for (const std::string& flag : pack.compiler_flags) {
    const bool keeps_arithmetic = flag.starts_with("-I") || flag.starts_with("-D") || flag.starts_with("-march=") ||
                                  flag.starts_with("-mtune=") || flag.starts_with("-mcpu=");
    if (keeps_arithmetic) flags.push_back(flag);
  }
  return flags;
}

CompileJob reference_job(const TaskPack& pack, const fs::path& folder) {
  CompileJob job{reference_unit(pack), "reference", reference_flags(pack), folder};
  if (!pack.compiler.empty()) job.program = find_program(pack.compiler);
  return job;
}

std::string flags_text(const std::vector<std::string>& flags, bool with_c) {
  std::vector<std::string> all = {kStandard};
  if (with_c) all.push_back(std::string("(C: ") + kStandardOfC + ")");
  all.insert(all.end(), std::begin(kFixedFlags), std::end(kFixedFlags));
  all.insert(all.end(), flags.begin(), flags.end());
  return fmt::format("{}", fmt::join(all, " "));
}

std::vector<CompileResult> compile_all(const CompileEnvironment& environment, const std::vector<CompileJob>& jobs,
                                       const std::stop_token& stop) {
  std::vector<CompileResult> results(jobs.size());
  std::vector<Running> running;
  std::size_t next = 0;
  while (next < jobs.size() || !running.empty()) {
    throw_if_stopped(stop);
    while (next < jobs.size() && running.size() < static_cast<std::size_t>(environment.options.compile_jobs)) {
      running.push_back(start(environment, jobs[next], next));
      ++next;
    }
    std::vector<pollfd> polled;
    for (const Running& r : running) polled.push_back({r.output.get(), POLLIN, 0});
    ::poll(polled.data(), polled.size(), 20);
    for (std::size_t i = running.size(); i-- > 0;) {
      const std::size_t index = running[i].index;
      if (!poll_result(environment.options, jobs[index], running[i], results[index])) continue;
      require_healthy_disk(jobs[index], results[index]);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return results;
}

}  // namespace kc
