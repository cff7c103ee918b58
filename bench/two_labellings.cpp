// Do two labellings of the same kernels agree? One of them may run beside a load generator.
//   two_labellings label --per-task 12 --out a.jsonl
//   two_labellings label --per-task 12 --load 4 --out b.jsonl      half an hour later
//   two_labellings compare --first a.jsonl --second b.jsonl --out bench/results/two-labellings.json
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "base/atomic_file.h"
#include "base/command_line.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/rng.h"
#include "forecast/bins.h"
#include "forecast/measurement_interval.h"
#include "measure/host_device.h"
#include "measure/machine.h"
#include "measure/statistics.h"

namespace {

struct Arguments {
  std::string tasks = "tasks", out, first, second;
  std::int64_t per_task = 12, seed = 1, load = 0;
};

// Threads that compute and stream through memory, with bursts and rests as builds have them, at ordinary priority.
class Load {
 public:
  explicit Load(std::int64_t threads) {
    for (std::int64_t t = 0; t < threads; ++t) threads_.emplace_back([this, t] { work(static_cast<unsigned>(t)); });
  }
  ~Load() {
    ended_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

 private:
  void work(unsigned index) {
    std::vector<double> memory(std::size_t{1} << (index % 2 == 0 ? 22 : 12), 1.0);
    std::minstd_rand random(index + 1);
    while (!ended_) {
      for (auto passes = random() % 40; passes > 0 && !ended_; --passes) {
        for (double& value : memory) value = value * 1.0000001 + 1e-9;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 30));
    }
  }

  std::atomic<bool> ended_{false};
  std::vector<std::thread> threads_;
};

std::vector<kc::Candidate> draw(const kc::TaskPack& pack, const Arguments& arguments) {
  std::vector<kc::Candidate> candidates = kc::list_candidates(pack);
  std::erase_if(candidates, [](const kc::Candidate& c) { return !c.expect.empty() || c.is_seed; });
  kc::RngStream rng = kc::RngStream(static_cast<std::uint64_t>(arguments.seed)).child(pack.name);
  rng.shuffle(candidates);
  candidates.resize(std::min(candidates.size(), static_cast<std::size_t>(arguments.per_task)));
  return candidates;
}

nlohmann::json row_of(const kc::Measurement& label) {
  nlohmann::json row = {{"task", label.task}, {"kernel", label.kernel_name}, {"status", kc::name_of(label.status)}};
  if (label.status != kc::MeasurementStatus::ok) return row;
  const kc::Log2Interval interval = kc::log2_speedup_interval(label);
  row.update({{"log2", kc::log2_speedup_scalar(label)}, {"low", interval.low}, {"high", interval.high}});
  for (const auto& [name, value] : label.facts) row["facts"][name] = value;
  for (const kc::CaseTiming& timing : label.cases) {  // medians, to see which side has changed
    row["candidate_ns"].push_back(kc::median_of({timing.candidate_ns.begin(), timing.candidate_ns.end()}));
    row["seed_ns"].push_back(kc::median_of({timing.reference_ns.begin(), timing.reference_ns.end()}));
  }
  return row;
}

int label(const Arguments& arguments) {
  if (arguments.out.empty()) throw kc::Error(kc::ErrorKind::usage, "give --out FILE.jsonl");
  const std::vector<kc::TaskPack> packs = kc::load_task_packs(arguments.tasks);
  const auto measurer = kc::make_host_measurer({}, std::uint64_t{std::random_device{}()} << 32);
  std::ofstream out(arguments.out);
  std::size_t labels = 0, accused = 0;
  const Load load(arguments.load);
  for (const kc::TaskPack& pack : packs) {
    std::vector<kc::MeasureRequest> requests;
    for (kc::Candidate& candidate : draw(pack, arguments)) requests.push_back({&pack, std::move(candidate)});
    measurer->measure(
        requests,
        [&](std::size_t, const kc::Measurement& result) {
          out << row_of(result).dump() << std::endl;
          ++labels;
          if (result.status == kc::MeasurementStatus::ok) return;
          ++accused;
          std::cout << fmt::format("{}: {}: {}\n", result.kernel_name, kc::name_of(result.status), result.log);
        },
        kc::interrupt_token());
  }
  std::cout << fmt::format("{} honest kernels labelled, {} of them accused\n", labels, accused);
  return accused == 0 ? 0 : kc::exit_code(kc::ErrorKind::check_failed);
}

std::map<std::string, nlohmann::json> read_labels(const std::string& path) {
  std::map<std::string, nlohmann::json> labels;
  std::ifstream file(path);
  if (!file) throw kc::Error(kc::ErrorKind::environment, path + ": cannot be read");
  for (std::string line; std::getline(file, line);) {
    nlohmann::json row = nlohmann::json::parse(line);
    labels[row["task"].get<std::string>() + " " + row["kernel"].get<std::string>()] = row;
  }
  return labels;
}

// 0 where the interval straddles an edge of the bins.
int bin_of(const nlohmann::json& row) {
  const int low = kc::bin_of(std::exp2(row["low"].get<double>())),
            high = kc::bin_of(std::exp2(row["high"].get<double>()));
  return low == high ? low : 0;
}

bool holds(const nlohmann::json& interval, const nlohmann::json& label) {
  return interval["low"].get<double>() <= label["log2"].get<double>() &&
         label["log2"].get<double>() <= interval["high"].get<double>();
}

int compare(const Arguments& arguments) {
  const auto first = read_labels(arguments.first), second = read_labels(arguments.second);
  int labels = 0, other_status = 0, inside = 0, clear = 0, same_bin = 0;
  std::vector<double> apart, widths[2];
  for (const auto& [name, a] : first) {
    const auto found = second.find(name);
    if (found == second.end()) continue;
    const nlohmann::json& b = found->second;
    other_status += a["status"] != b["status"] ? 1 : 0;
    if (!a.contains("log2") || !b.contains("log2")) continue;
    ++labels;
    const bool agrees = holds(a, b) && holds(b, a);
    inside += agrees ? 1 : 0;
    apart.push_back(std::fabs(a["log2"].get<double>() - b["log2"].get<double>()));
    widths[0].push_back((a["high"].get<double>() - a["low"].get<double>()) / 2);
    widths[1].push_back((b["high"].get<double>() - b["low"].get<double>()) / 2);
    if (!agrees)
      std::cerr << fmt::format("apart by {:.4f} (halfwidths {:.4f}, {:.4f}; log2 {:.2f}): {}\n", apart.back(),
                               widths[0].back(), widths[1].back(), a["log2"].get<double>(), name);
    if (bin_of(a) == 0 || bin_of(b) == 0) continue;
    ++clear;
    same_bin += bin_of(a) == bin_of(b) ? 1 : 0;
  }
  if (labels == 0) throw kc::Error(kc::ErrorKind::bad_data, "the two files have no label in common");
  const nlohmann::json result = {{"labels", labels},
                                 {"other_status", other_status},
                                 {"inside_each_others_intervals", double(inside) / labels},
                                 {"away_from_edges", clear},
                                 {"same_bin_of_those", double(same_bin) / std::max(clear, 1)},
                                 {"median_distance_log2", kc::median_of(apart)},
                                 {"median_halfwidth_log2", {kc::median_of(widths[0]), kc::median_of(widths[1])}},
                                 {"processor", kc::processor_model()},
                                 {"compared_at", kc::utc_now()}};
  std::cout << result.dump(2) << "\n";
  if (!arguments.out.empty()) kc::write_file_atomically(arguments.out, result.dump(2) + "\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  kc::CommandLine line("two_labellings", "Agreement of two labellings of the same kernels", "", false);
  Arguments arguments;
  line.subcommand("label", "Label some candidates of each task", "", false, [&] { return label(arguments); })
      .option("--tasks", arguments.tasks, "a folder of task packs")
      .option("--per-task", arguments.per_task, "candidates of each, drawn by --seed")
      .option("--seed", arguments.seed, "seed of that draw")
      .option("--load", arguments.load, "threads of a load generator beside it")
      .option("--out", arguments.out, "labels, one JSON object a line", true);
  line.subcommand("compare", "Compare two files of labels", "", false, [&] { return compare(arguments); })
      .option("--first", arguments.first, "labels", true)
      .option("--second", arguments.second, "labels", true)
      .option("--out", arguments.out, "result as JSON");
  return line.run(argc, argv);
}
