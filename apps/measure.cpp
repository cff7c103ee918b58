// measure: compile, check and time candidate kernels; store the labels.
#include <iostream>
#include <optional>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/command_line.h"
#include "base/config.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/table.h"
#include "measure/host_device.h"
#include "pipeline/dataset_views.h"
#include "pipeline/labelling.h"
#include "pipeline/resources.h"

namespace {

constexpr const char* kExamples =
    "  measure label --tasks tasks --device host --out labels.h5\n"
    "  measure label --tasks tasks/softmax --out softmax.h5 --limit 50 --set measure.time_budget_s=0.5\n"
    "  measure check --tasks tasks/softmax                   is this task pack sound?";

struct Arguments {
  std::string tasks = "tasks", device = "host", out;
  std::int64_t limit = 0, seed = 1;
  bool again = false;
};

// Inputs must be unknown to candidates, so this seed is secret and not reproducible; the draw of candidates uses
// --seed.
std::uint64_t secret_seed() { return (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}(); }

std::vector<kc::TaskPack> load_tasks(const std::string& path) {
  const auto root = kc::find_resource(path);
  if (std::filesystem::exists(root / "task.yaml")) return {kc::load_task_pack(root)};
  return kc::load_task_packs(root);
}

// Nothing when the configuration was shown and there is no more to do.
std::optional<kc::HostOptions> host_options(const kc::CommonOptions& common) {
  kc::Config config = kc::load_config(common);
  kc::HostOptions options = kc::read_host_options(config);
  kc::ignore_other_sections(config, {"measure"});
  if (kc::show_config(common, config)) return std::nullopt;
  return options;
}

void require_host(const std::string& device) {
  if (device != "host")
    throw kc::Error(kc::ErrorKind::usage,
                    "unknown device '" + device + "': this build measures on 'host', the CPU itself");
}

nlohmann::json to_json(const kc::LabelReport& report) {
  nlohmann::json by_status;
  for (int s = 0; s < kc::kMeasurementStatuses; ++s) {
    by_status[std::string(kc::name_of(static_cast<kc::MeasurementStatus>(s)))] =
        report.by_status[static_cast<std::size_t>(s)];
  }
  return {{"measured", report.measured},
          {"already_stored", report.already_stored},
          {"by_status", by_status},
          {"unexpected", report.unexpected},
          {"seconds", report.seconds}};
}

void print_report(const kc::LabelReport& report, const std::string& out) {
  kc::Table table({"status", "candidates"});
  for (int s = 0; s < kc::kMeasurementStatuses; ++s) {
    table.add_row({std::string(kc::name_of(static_cast<kc::MeasurementStatus>(s))),
                   std::to_string(report.by_status[static_cast<std::size_t>(s)])});
  }
  std::cout << table.render();
  for (const std::string& line : report.unexpected) std::cout << "unexpected: " << line << "\n";
  std::cout << fmt::format("{} measured in {:.1f} s, {} already stored in {}\n", report.measured, report.seconds,
                           report.already_stored, out);
}

int label(const kc::CommonOptions& common, const Arguments& arguments) {
  require_host(arguments.device);
  const std::optional<kc::HostOptions> options = host_options(common);
  if (!options) return 0;
  if (arguments.limit < 0) throw kc::Error(kc::ErrorKind::usage, "--limit counts candidates of each task; 0 means all");
  if (arguments.out.empty()) throw kc::Error(kc::ErrorKind::usage, "give --out FILE.h5, where the labels go");
  const std::vector<kc::TaskPack> tasks = load_tasks(arguments.tasks);
  for (const kc::TaskPack& task : tasks) kc::admit_task(task, *options);
  const auto measurer = kc::make_host_measurer(*options, secret_seed());
  const kc::LabelReport report = kc::label_tasks(tasks, *measurer, arguments.out,
                                                 {.limit_per_task = arguments.limit,
                                                  .seed = static_cast<std::uint64_t>(arguments.seed),
                                                  .measure_again = arguments.again},
                                                 kc::interrupt_token());
  if (common.json) {
    std::cout << to_json(report).dump() << "\n";
  } else {
    print_report(report, arguments.out);
  }
  return 0;
}

int check(const kc::CommonOptions& common, const Arguments& arguments) {
  const std::optional<kc::HostOptions> options = host_options(common);
  if (!options) return 0;
  std::size_t findings = 0;
  for (const kc::TaskPack& task : load_tasks(arguments.tasks)) {
    const std::vector<kc::TaskFinding> found = kc::check_task(task, *options, kc::interrupt_token());
    findings += found.size();
    std::cout << fmt::format("{}: {}, {} cases, {} candidates\n", task.name, found.empty() ? "sound" : "NOT sound",
                             task.cases.size(), kc::list_candidates(task).size());
    for (const kc::TaskFinding& finding : found) {
      std::cout << fmt::format("  {}: expected {}, found {}: {}\n", finding.candidate, finding.expected, finding.got,
                               finding.log);
    }
  }
  return findings == 0 ? 0 : kc::exit_code(kc::ErrorKind::check_failed);
}

}  // namespace

int main(int argc, char** argv) {
  kc::CommandLine line("measure", "Compile, check and time candidate kernels", kExamples, false);
  Arguments arguments;
  kc::CommandLine* labelling = nullptr;
  kc::CommandLine* checking = nullptr;
  labelling = &line.subcommand("label", "Measure every candidate of the tasks and store the labels", kExamples, true,
                               [&] { return label(labelling->common(), arguments); });
  labelling->option("--tasks", arguments.tasks, "a task pack or a folder of them")
      .option("--device", arguments.device, "host: the CPU itself")
      .option("--out", arguments.out, "labels (HDF5); continued when it exists")
      .option("--limit", arguments.limit, "at most so many candidates of each task, drawn by --seed; 0: all")
      .option("--seed", arguments.seed, "seed of that draw")
      .flag("--again", arguments.again, "measure also what is stored already");
  checking = &line.subcommand("check", "Admit task packs: reference, seed and tolerance are sound", kExamples, true,
                              [&] { return check(checking->common(), arguments); });
  checking->option("--tasks", arguments.tasks, "a task pack or a folder of them");
  return line.run(argc, argv);
}
