// latency: seconds from a candidate's source to its label on this machine's CPU, and from the cache.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/command_line.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/table.h"
#include "measure/caching.h"
#include "measure/machine.h"
#include "pipeline/measure_setup.h"

namespace kc {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

struct Latency {
  std::vector<double> alone_s;   // one candidate per call: compile, session, check, time
  std::vector<double> cached_s;  // the same again
  double batch_s = 0;            // all in one call, per candidate
};

std::vector<MeasureRequest> draw(const TaskPack& task, std::size_t count) {
  std::vector<Candidate> candidates = list_candidates(task);
  RngStream rng = RngStream(std::uint64_t{1}).child("latency").child(task.name);
  rng.shuffle(candidates);
  candidates.resize(std::min(count, candidates.size()));
  std::vector<MeasureRequest> requests;
  for (Candidate& candidate : candidates) requests.push_back({&task, std::move(candidate)});
  return requests;
}

Latency measure_latency(const TaskPack& task, const HostOptions& options, std::size_t count, Progress& progress) {
  const auto measurer = make_caching_measurer(make_host_measurer(options, secret_seed()));
  std::vector<MeasureRequest> requests = draw(task, count);
  const auto seed = MeasureRequest{&task, {task.seed_name, task.seed, true, ""}};
  measurer->measure(std::span(&seed, 1), {}, interrupt_token());  // compiles reference and seed
  Latency latency;
  for (const MeasureRequest& request : requests) {
    for (std::vector<double>* seconds : {&latency.alone_s, &latency.cached_s}) {
      const auto start = Clock::now();
      const auto result = measurer->measure(std::span(&request, 1), {}, interrupt_token());
      // A timeout is not kept, so the second time is no answer from the cache.
      if (seconds == &latency.cached_s && result[0].status == MeasurementStatus::timeout) continue;
      seconds->push_back(seconds_since(start));
    }
    progress.advance();
  }
  const auto fresh = make_host_measurer(options, secret_seed());
  fresh->measure(std::span(&seed, 1), {}, interrupt_token());
  const auto start = Clock::now();
  fresh->measure(requests, {}, interrupt_token());
  latency.batch_s = seconds_since(start) / static_cast<double>(requests.size());
  return latency;
}

void print(const std::map<std::string, Latency>& tasks, bool as_json) {
  Table table({"task", "n", "median s", "p99 s", "in one batch, mean s", "cached, median ms"});
  Latency all;
  nlohmann::json json;
  const auto add = [&](const std::string& name, const Latency& l) {
    table.add_row({name, std::to_string(l.alone_s.size()), fmt::format("{:.3f}", quantile(l.alone_s, 0.5)),
                   fmt::format("{:.3f}", quantile(l.alone_s, 0.99)), fmt::format("{:.3f}", l.batch_s),
                   fmt::format("{:.4f}", 1e3 * quantile(l.cached_s, 0.5))});
    json[name] = {{"n", l.alone_s.size()},
                  {"median_s", quantile(l.alone_s, 0.5)},
                  {"p99_s", quantile(l.alone_s, 0.99)},
                  {"batch_mean_s", l.batch_s},
                  {"cached_median_ms", 1e3 * quantile(l.cached_s, 0.5)},
                  {"cached_p99_ms", 1e3 * quantile(l.cached_s, 0.99)}};
  };
  for (const auto& [name, latency] : tasks) {
    add(name, latency);
    all.alone_s.insert(all.alone_s.end(), latency.alone_s.begin(), latency.alone_s.end());
    all.cached_s.insert(all.cached_s.end(), latency.cached_s.begin(), latency.cached_s.end());
    all.batch_s += latency.batch_s / static_cast<double>(tasks.size());
  }
  table.add_rule();
  add("all", all);
  std::cout << (as_json ? json.dump() + "\n" : table.render());
}

int run(const CommonOptions& common, const std::string& folder, std::size_t count) {
  const auto options = read_device_options(common);
  if (!options) return 0;
  const std::vector<TaskPack> packs = load_tasks(folder);
  Progress progress("latency", static_cast<std::int64_t>(count * packs.size()), "candidates");
  std::map<std::string, Latency> tasks;
  for (const TaskPack& pack : packs) {
    if (pack.supports("host"))
      tasks[pack.name] = measure_latency(pack_for_device(pack, "host"), options->host, count, progress);
  }
  progress.finish();
  print(tasks, common.json);
  return 0;
}

}  // namespace
}  // namespace kc

int main(int argc, char** argv) {
  kc::CommandLine line("latency", "Seconds from a candidate's source to its label",
                       "  latency\n  latency --tasks tasks/softmax --count 50 --json", true);
  std::string tasks = "tasks";
  std::int64_t count = 20;
  line.option("--tasks", tasks, "a task pack or a folder of them").option("--count", count, "candidates of each task");
  return line.run(argc, argv, [&] {
    if (count < 1) throw kc::Error(kc::ErrorKind::usage, "--count counts from 1");
    return kc::run(line.common(), tasks, static_cast<std::size_t>(count));
  });
}
