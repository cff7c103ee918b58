// Do intervals of labels cover the truth? Times each task's seed against other processes with the same library, where
// log2 S is 0, with everything that a label has: several processes, looks, the stopping rule.
//   aa_coverage run --tasks tasks --pairs 2000 --out bench/results/aa-coverage.json
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/atomic_file.h"
#include "base/command_line.h"
#include "base/interrupt.h"
#include "base/table.h"
#include "measure/host_environment.h"
#include "measure/machine.h"
#include "measure/session.h"
#include "measure/statistics.h"

namespace {

constexpr std::int64_t kSessionPairs = 12;

struct Arguments {
  std::string tasks = "tasks", out;
  std::int64_t pairs = 2000;
  double target_log2 = kc::HostOptions{}.target_log2_halfwidth;
};

struct Trial {
  std::string task;
  double log2 = 0, low = 0, high = 0, within_session = 0, seconds = 0;
  int processes = 0;
  bool covered() const { return low <= 0 && high >= 0; }
  bool covered_within_session() const { return std::fabs(log2) <= within_session; }
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// A session of the task, as labelling has it: the first pair only tells the noise.
void run_session(const kc::CompileEnvironment& environment, const kc::HostTask& task, kc::RngStream rng,
                 std::vector<Trial>& trials, std::size_t wanted) {
  const kc::CorePair cores = kc::choose_cores();
  const kc::DeviceLock lock(kc::interrupt_token());
  const kc::TimingThread thread(task.pack->threads > 1 ? -1 : cores.harness,
                                environment.options.real_time && task.pack->threads == 1);
  const std::stop_token stop = kc::interrupt_token();
  kc::Session session(environment, task, cores, rng, stop);
  session.measure_noise(stop);
  for (std::int64_t i = 0; i < kSessionPairs && trials.size() < wanted; ++i) {
    kc::throw_if_stopped(stop);
    const Clock::time_point start = Clock::now();
    const kc::Measurement pair = session.measure(task.seed_folder, stop);
    if (pair.status != kc::MeasurementStatus::ok) throw kc::Error(kc::ErrorKind::check_failed, pair.log);
    trials.push_back({task.pack->name, kc::log2_speedup_scalar(pair), pair.facts.at("log2_low"),
                      pair.facts.at("log2_high"), pair.facts.at("within_session_log2_halfwidth"), seconds_since(start),
                      static_cast<int>(pair.facts.at("processes"))});
  }
}

nlohmann::json summary(const std::vector<Trial>& trials) {
  std::vector<double> widths, within, errors, seconds;
  double covered = 0, covered_within = 0, processes = 0;
  std::map<std::string, int> stopped;  // by processes
  for (const Trial& trial : trials) {
    covered += trial.covered() ? 1 : 0;
    covered_within += trial.covered_within_session() ? 1 : 0;
    processes += trial.processes;
    ++stopped[std::to_string(trial.processes)];
    within.push_back(trial.within_session);
    widths.push_back((trial.high - trial.low) / 2);
    errors.push_back(std::fabs(trial.log2));
    seconds.push_back(trial.seconds);
  }
  const auto count = static_cast<double>(trials.size());
  return {{"pairs", trials.size()},
          {"coverage", covered / count},
          {"median_halfwidth_log2", kc::median_of(widths)},
          {"coverage_within_session", covered_within / count},
          {"median_within_session_log2", kc::median_of(within)},
          {"pairs_by_processes", stopped},
          {"median_error_log2", kc::median_of(errors)},
          {"largest_error_log2", *std::max_element(errors.begin(), errors.end())},
          {"processes", processes / count},
          {"median_seconds", kc::median_of(seconds)}};
}

std::vector<std::string> row_of(const std::string& name, const nlohmann::json& s) {
  return {name,
          fmt::format("{}", s["pairs"].get<int>()),
          fmt::format("{:.1f} %", 100 * s["coverage"].get<double>()),
          fmt::format("{:.4f}", s["median_halfwidth_log2"].get<double>()),
          fmt::format("{:.1f} %", 100 * s["coverage_within_session"].get<double>()),
          fmt::format("{:.4f}", s["median_within_session_log2"].get<double>()),
          fmt::format("{:.4f}", s["median_error_log2"].get<double>()),
          fmt::format("{:.4f}", s["largest_error_log2"].get<double>()),
          fmt::format("{:.2f}", s["processes"].get<double>()),
          fmt::format("{:.3f}", s["median_seconds"].get<double>())};
}

void report(const std::vector<Trial>& trials, const std::vector<kc::TaskPack>& packs, double target_log2,
            const std::string& out, bool as_json) {
  kc::Table table({"task", "pairs", "coverage", "halfwidth", "in session", "halfwidth", "median error", "largest",
                   "processes", "s"});
  nlohmann::json json = {{"processor", kc::processor_model()},
                         {"ended_at", kc::utc_now()},
                         {"target_log2_halfwidth", target_log2},
                         {"all", summary(trials)}};
  for (const kc::TaskPack& pack : packs) {
    std::vector<Trial> of_task;
    std::copy_if(trials.begin(), trials.end(), std::back_inserter(of_task),
                 [&](const Trial& trial) { return trial.task == pack.name; });
    if (of_task.empty()) continue;
    json["tasks"][pack.name] = summary(of_task);
    table.add_row(row_of(pack.name, json["tasks"][pack.name]));
  }
  table.add_row(row_of("all", json["all"]));
  std::cout
      << (as_json ? json.dump(2) + "\n"
                  : table.render() +
                        "log2 of the ratio; halfwidths of the 95 % intervals, for another session and for this one\n");
  if (!out.empty()) kc::write_file_atomically(out, json.dump(2) + "\n");
}

int run(const Arguments& arguments, bool as_json) {
  const std::vector<kc::TaskPack> packs = kc::load_task_packs(arguments.tasks);
  const kc::TemporaryFolder folder;
  kc::HostOptions options;
  options.target_log2_halfwidth = arguments.target_log2;
  const kc::CompileEnvironment environment = kc::make_compile_environment(options, folder);
  const kc::RngStream rng(std::random_device{}());
  std::vector<kc::HostTask> tasks;
  for (const kc::TaskPack& pack : packs)
    tasks.push_back(kc::prepare_task(environment, pack, folder.path() / pack.name, kc::interrupt_token()));
  const auto wanted = static_cast<std::size_t>(arguments.pairs);
  std::vector<Trial> trials;
  for (std::uint64_t session = 0; trials.size() < wanted; ++session) {
    run_session(environment, tasks[session % tasks.size()], rng.child(session), trials, wanted);
  }
  report(trials, packs, arguments.target_log2, arguments.out, as_json);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  kc::CommandLine line("aa_coverage", "Coverage of labels' intervals where the truth is known", "", false);
  Arguments arguments;
  kc::CommandLine* running = nullptr;
  running = &line.subcommand("run", "Time seeds against themselves", "", false,
                             [&] { return run(arguments, running->common().json); });
  running->option("--tasks", arguments.tasks, "a folder of task packs")
      .option("--pairs", arguments.pairs, "pairs in all, tasks in turn")
      .option("--target", arguments.target_log2,
              "halfwidth in log2 at which a pair ends (measure.target_log2_halfwidth)")
      .option("--out", arguments.out, "summary as JSON");
  return line.run(argc, argv);
}
