#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/table.h"
#include "pipeline/labelling.h"
#include "pipeline/measure_setup.h"
#include "pipeline/resources.h"

namespace kc {
namespace {

nlohmann::json to_json(const LabelReport& report) {
  nlohmann::json by_status;
  for (int s = 0; s < kMeasurementStatuses; ++s) {
    by_status[std::string(name_of(static_cast<MeasurementStatus>(s)))] = report.by_status[static_cast<std::size_t>(s)];
  }
  return {{"measured", report.measured},     {"already_stored", report.already_stored}, {"by_status", by_status},
          {"unexpected", report.unexpected}, {"ended_early", report.ended_early},       {"seconds", report.seconds},
          {"fastest", report.fastest.json()}};
}

void print_report(const LabelReport& report, const std::string& out) {
  Table table({"status", "candidates"});
  for (int s = 0; s < kMeasurementStatuses; ++s) {
    table.add_row({std::string(name_of(static_cast<MeasurementStatus>(s))),
                   std::to_string(report.by_status[static_cast<std::size_t>(s)])});
  }
  std::cout << table.render();
  for (const std::string& line : report.unexpected) std::cout << "unexpected: " << line << "\n";
  if (!report.ended_early.empty()) std::cout << "ended early: " << report.ended_early << "\n";
  const double rate = report.seconds > 0 ? static_cast<double>(report.measured) / report.seconds : 0;
  std::cout << fmt::format("{} measured in {:.1f} s ({:.1f}/s), {} already stored in {}\n", report.measured,
                           report.seconds, rate, report.already_stored, out);
  if (!report.fastest.empty()) std::cout << "\n" << report.fastest.table();
}

void check_arguments(const MeasureArguments& arguments) {
  if (arguments.limit < 0) throw Error(ErrorKind::usage, "--limit counts candidates of each task; 0 means all");
  if (arguments.candidates < 0 || !(arguments.seconds >= 0))
    throw Error(ErrorKind::usage, "--max-candidates and --max-seconds are limits; 0 means none");
  if (arguments.out.empty()) throw Error(ErrorKind::usage, "give --out FILE.h5, where the labels go");
}

}  // namespace

int label_command(const CommonOptions& common, const MeasureArguments& arguments) {
  std::optional<DeviceOptions> options = read_device_options(common);
  if (!options) return 0;
  check_arguments(arguments);
  const std::filesystem::path out(arguments.out);
  require_writable_folder(out.has_parent_path() ? out.parent_path() : ".");
  options->token = remote_token(arguments.token_file);
  options->known = arguments.reuse;
  options->budget = {arguments.candidates, arguments.seconds};
  options->cache = !arguments.again;
  const OpenDevice device = open_device(arguments, *options, load_tasks(arguments.tasks));
  if (arguments.device == "host") {
    for (const TaskPack& task : device.tasks) admit_task(task, options->host);
  }
  const LabelReport report = label_tasks(device.tasks, *device.measurer, out,
                                         {.limit_per_task = arguments.limit,
                                          .seed = static_cast<std::uint64_t>(arguments.seed),
                                          .measure_again = arguments.again},
                                         interrupt_token());
  if (common.json) {
    std::cout << to_json(report).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  } else {
    print_report(report, arguments.out);
  }
  return 0;
}

}  // namespace kc
