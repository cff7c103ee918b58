#include "measure/host_device.h"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "measure/compile_ahead.h"
#include "measure/host_environment.h"
#include "measure/machine.h"
#include "measure/process.h"
#include "measure/session.h"
#include "measure/session_ranges.h"
#include "measure/statistics.h"

namespace kc {
namespace {

constexpr std::chrono::seconds kSessionAge(60);  // after that it takes no further candidates
constexpr std::chrono::seconds kNoiseAge(10);    // of a task's last look at the noise floor

struct OpenSession {
  const HostTask* task;
  CorePair cores;
  pid_t thread;  // that opened it: its processes end with that thread
  std::chrono::steady_clock::time_point opened;
  std::size_t candidates;  // timed on its draw of inputs
  std::unique_ptr<Session> session;
};

class HostMeasurer : public Measurer {
 public:
  HostMeasurer(const HostOptions& options, std::uint64_t input_seed)
      : environment_(make_compile_environment(options, folder_)),
        rng_(input_seed),
        usable_cores_(options.cores > 0 ? static_cast<int>(options.cores) : usable_cores()) {
    base_.run_id = random_run_id();
    base_.processor = processor_model();
    base_.device = options.device.empty() ? base_.processor : options.device;
    base_.harness_version = kHostHarnessVersion;
    base_.started_at = utc_now();
  }

  std::vector<Measurement> measure(std::span<const MeasureRequest> requests, const OnResult& on_result,
                                   std::stop_token stop) override {
    std::vector<Measurement> results(requests.size());
    const auto sessions = split_into_sessions(requests);
    std::unique_ptr<CompileAhead> next;
    for (std::size_t s = 0; s < sessions.size(); ++s) {
      const auto first = static_cast<std::size_t>(sessions[s].data() - requests.data());
      const TaskPack& pack = *sessions[s][0].task;
      const HostTask& task = task_of(pack, stop);
      if (!next) next = compile_ahead(sessions[s], 0);
      const std::unique_ptr<CompileAhead> current = std::move(next);
      const std::vector<CompileResult> compiled = current->results(stop);
      const int spare = spare_cores(usable_cores_, pack.threads);
      if (spare > 0 && s + 1 < sessions.size()) next = compile_ahead(sessions[s + 1], spare);
      const OnResult report = [&](std::size_t i, const Measurement& measurement) {
        results[first + i] = measurement;
        if (on_result) on_result(first + i, measurement);
      };
      run_session(task, sessions[s], current->jobs(), compiled, report, stop);
    }
    return results;
  }

  Provenance provenance(const TaskPack& task) const override {
    Provenance provenance = base_;
    const bool with_c = has_c_sources(task);
    provenance.compiler = version_of(task.compiler, environment_.compiler);
    if (with_c) provenance.compiler += "; " + version_of(task.c_compiler, environment_.c_compiler);
    provenance.compiler_flags = flags_text(task.compiler_flags, with_c);
    provenance.noise_floor = noise_.empty() ? 0 : median_of(noise_);
    return provenance;
  }

 private:
  const HostTask& task_of(const TaskPack& pack, const std::stop_token& stop) {
    const auto known = tasks_.find(&pack);
    if (known != tasks_.end()) return known->second;
    const auto folder = folder_.path() / fmt::format("task-{}", tasks_.size());
    HostTask task = prepare_task(environment_, pack, folder, stop);
    task.watch = watch_;
    return tasks_.emplace(&pack, std::move(task)).first->second;
  }

  std::unique_ptr<CompileAhead> compile_ahead(std::span<const MeasureRequest> requests, int spare) {
    std::vector<CompileJob> jobs;
    for (const MeasureRequest& request : requests) {
      const auto folder = folder_.path() / fmt::format("candidate-{}", jobs_made_++);
      jobs.push_back(candidate_job(*request.task, request.candidate, folder));
    }
    return std::make_unique<CompileAhead>(environment_, std::move(jobs), choose_cores(), spare);
  }

  void run_session(const HostTask& task, std::span<const MeasureRequest> requests, const std::vector<CompileJob>& jobs,
                   const std::vector<CompileResult>& compiled, const OnResult& on_result, const std::stop_token& stop) {
    const TaskPack& pack = *task.pack;
    const CorePair cores = choose_cores();
    const DeviceLock lock(stop);
    const TimingThread timing_thread(pack.threads > 1 ? -1 : cores.harness,
                                     environment_.options.real_time && pack.threads == 1);
    // Taken out while it is used, so that one that threw is not used again.
    std::optional<OpenSession> open = open_session(task, cores, requests.size(), stop);
    note_noise(*open->session, pack, stop);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      throw_if_stopped(stop);
      Measurement result;
      if (compiled[i].ok) {
        result = open->session->measure(jobs[i].folder, stop);
      } else {
        result.status = MeasurementStatus::compile_error;
        result.log = compiled[i].log;
      }
      identify(result, requests[i], provenance(pack));
      result.facts.merge(machine_facts(cores.runner));
      result.facts["threads"] = pack.threads;
      std::error_code ignored;
      std::filesystem::remove_all(jobs[i].folder, ignored);
      on_result(i, result);
    }
    open->candidates += requests.size();
    last_session_ = std::move(open);
  }

  // The last call's session goes on where it may: a search that sends one candidate at a time would otherwise spend as
  // long on reference, seeds and inputs as on its labels.
  std::optional<OpenSession> open_session(const HostTask& task, const CorePair& cores, std::size_t candidates,
                                          const std::stop_token& stop) {
    std::optional<OpenSession> last = std::exchange(last_session_, std::nullopt);
    const auto now = std::chrono::steady_clock::now();
    if (last && last->task == &task && last->cores == cores && last->thread == ::gettid() &&
        now - last->opened < kSessionAge && last->candidates + candidates <= kSessionSize &&
        last->session->is_alive()) {
      return last;
    }
    last.reset();  // its memory, before the next one takes its own; the allocator keeps what is not asked back
    ::malloc_trim(0);
    auto session = std::make_unique<Session>(environment_, task, cores, rng_.child(sessions_++), stop);
    return OpenSession{&task, cores, ::gettid(), now, 0, std::move(session)};
  }

  // A search that sends one candidate at a time would otherwise spend as long on the noise floor as on its labels.
  void note_noise(Session& session, const TaskPack& pack, const std::stop_token& stop) {
    const auto now = std::chrono::steady_clock::now();
    const auto known = noise_times_.find(&pack);
    if (known != noise_times_.end() && now - known->second < kNoiseAge) return;
    noise_.push_back(session.measure_noise(stop));
    noise_times_[&pack] = now;  // of a look that was not interrupted
  }

  // A task names its compiler, or takes `ours`.
  std::string version_of(const std::string& program, const std::filesystem::path& ours) const {
    const std::filesystem::path path = program.empty() ? ours : find_program(program);
    if (path.empty()) return "no C compiler";
    auto [version, added] = versions_.try_emplace(path);
    if (added) version->second = program_version(path);
    return version->second;
  }

  TemporaryFolder folder_;
  CompileEnvironment environment_;
  RngStream rng_;
  Provenance base_;
  int usable_cores_;
  std::map<const TaskPack*, HostTask> tasks_;
  std::shared_ptr<QuietWatch> watch_ = std::make_shared<QuietWatch>();
  mutable std::map<std::filesystem::path, std::string> versions_;  // of compilers
  std::vector<double> noise_;
  std::map<const TaskPack*, std::chrono::steady_clock::time_point> noise_times_;
  std::uint64_t sessions_ = 0;
  std::optional<OpenSession> last_session_;
  std::size_t jobs_made_ = 0;
};

}  // namespace

HostOptions read_host_options(Config& config) {
  ConfigSection s = config.section("measure");
  HostOptions o;
  o.device =
      s.text("device", o.device, {.meaning = "name of this machine in the hardware table; empty: its processor"});
  o.compiler = s.text("compiler", o.compiler, {.meaning = "C++ compiler of the candidates, a path or a name on PATH"});
  o.c_compiler = s.text("c_compiler", o.c_compiler, {.meaning = "C compiler of the candidates in .c files"});
  o.compile_timeout_s =
      s.number("compile_timeout_s", o.compile_timeout_s,
               {.meaning = "processor time of one compilation; it may wait for a processor three times as long",
                .unit = "s",
                .min = 0.1});
  o.run_timeout_s =
      s.number("run_timeout_s", o.run_timeout_s, {.meaning = "limit of one launch", .unit = "s", .min = 0.01});
  o.time_budget_s = s.number("time_budget_s", o.time_budget_s,
                             {.meaning = "timing of one candidate, all cases", .unit = "s", .min = 0.001});
  o.min_rounds = s.integer("min_rounds", o.min_rounds,
                           {.meaning = "rounds in each of the processes of a candidate", .min = 3, .max = 1000});
  o.max_rounds =
      s.integer("max_rounds", o.max_rounds,
                {.meaning = "rounds at most, in all processes; there are at most eight", .min = 3, .max = 10000});
  o.target_log2_halfwidth =
      s.number("target_log2_halfwidth", o.target_log2_halfwidth,
               {.meaning = "timing stops when the interval of log2 S within the session is narrower", .min = 0});
  o.memory_limit_mb = s.integer("memory_limit_mb", o.memory_limit_mb,
                                {.meaning = "memory of compiler and candidate", .unit = "MB", .min = 256});
  o.output_limit_mb =
      s.integer("output_limit_mb", o.output_limit_mb, {.meaning = "what a compiler may write", .unit = "MB", .min = 1});
  o.correctness_seeds = s.integer("correctness_seeds", o.correctness_seeds,
                                  {.meaning = "input sets of the check before timing", .min = 1, .max = 64});
  o.compile_jobs =
      s.integer("compile_jobs", o.compile_jobs, {.meaning = "compilations at a time", .min = 1, .max = 256});
  o.cores = s.integer("cores", o.cores,
                      {.meaning = "cores to use, 0: those that this process may run on; from three on, candidates are "
                                  "compiled while others are timed",
                       .min = 0,
                       .max = 4096});
  o.real_time = s.boolean("real_time", o.real_time,
                          {.meaning = "time with real-time priority where that is allowed (root); the cores are then "
                                      "not free for others"});
  o.sandbox = s.choice("sandbox", o.sandbox, {"auto", "require", "off"},
                       {.meaning = "isolation of candidates: what there is, all of it, or none"});
  for (const auto& [key, program] : {std::pair("compiler", o.compiler), {"c_compiler", o.c_compiler}}) {
    if (program.empty()) s.fault(key, "is empty; expected a program: a path or a name on PATH");
  }
  if (o.max_rounds < o.min_rounds) s.fault("max_rounds", "is below min_rounds");
  return o;
}

std::unique_ptr<Measurer> make_host_measurer(const HostOptions& options, std::uint64_t input_seed) {
  return std::make_unique<HostMeasurer>(options, input_seed);
}

}  // namespace kc
