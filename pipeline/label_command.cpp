#include <functional>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/table.h"
#include "pipeline/confirming.h"
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
  if (report.measured > 0 && report.unexpected.empty()) std::cout << "all as the tasks expect them\n";
  if (!report.ended_early.empty()) std::cout << "ended early: " << report.ended_early << "\n";
  const double rate = report.seconds > 0 ? static_cast<double>(report.measured) / report.seconds : 0;
  std::cout << fmt::format("{} measured in {:.1f} s ({:.1f}/s), {} already stored in {}\n", report.measured,
                           report.seconds, rate, report.already_stored, out);
  if (!report.fastest.empty()) std::cout << "\n" << report.fastest.table();
  std::cout << std::flush;  // confirming writes to the other stream meanwhile
}

void check_arguments(const MeasureArguments& arguments) {
  if (arguments.limit < 0) throw Error(ErrorKind::usage, "--limit counts candidates of each task; 0 means all");
  if (arguments.candidates < 0 || !(arguments.seconds >= 0))
    throw Error(ErrorKind::usage, "--max-candidates and --max-seconds are limits; 0 means none");
  if (arguments.confirm < 0) throw Error(ErrorKind::usage, "--confirm counts kernels of each task; 0 means none");
  if (arguments.confirm > 0 && !measures_anew(arguments.device)) {
    throw Error(ErrorKind::usage, fmt::format("--confirm needs a device that measures anew (host, cuda[:N], "
                                              "http://HOST:PORT), found {}: a recording answers as before",
                                              arguments.device));
  }
  if (!arguments.reuse.empty() && !is_store(arguments.reuse)) {
    throw Error(ErrorKind::usage, fmt::format("--reuse: there is no store {}", arguments.reuse));
  }
  if (arguments.out.empty()) throw Error(ErrorKind::usage, "give --out FILE.h5, where the labels go");
}

// On a device of its own, which has not seen them and has no budget to spare.
std::vector<ConfirmedKernel> confirm(const MeasureArguments& arguments, DeviceOptions options,
                                     const std::vector<TaskPack>& tasks) {
  options.cache = false;
  options.budget = {};
  const auto measurer = make_device(arguments.device, options);
  return confirm_fastest(tasks, *measurer, arguments.out, static_cast<std::size_t>(arguments.confirm),
                         interrupt_token());
}

// What was labelled is told though confirming fails.
void print_confirmed(const CommonOptions& common, const LabelReport& report,
                     const std::function<std::vector<ConfirmedKernel>()>& confirm) {
  nlohmann::json json = to_json(report);
  try {
    const std::vector<ConfirmedKernel> kernels = confirm();
    json["confirmed"] = to_json(kernels);
    if (!common.json && !kernels.empty()) std::cout << "\n" << confirmed_table(kernels);
  } catch (const Error& error) {
    json["confirming_failed"] = error.what();
    if (common.json) print_json(json);
    throw;
  }
  if (common.json) print_json(json);
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
  const std::vector<TaskPack> tasks = load_tasks(arguments.tasks);
  OpenDevice device = open_device(arguments, *options, tasks);
  if (measures_here(arguments.device)) admit_tasks(tasks, device, options->host, interrupt_token());
  const LabelReport report = label_tasks(device.tasks, *device.measurer, out,
                                         {.limit_per_task = arguments.limit,
                                          .seed = static_cast<std::uint64_t>(arguments.seed),
                                          .measure_again = arguments.again},
                                         interrupt_token());
  if (!common.json) print_report(report, arguments.out);
  if (arguments.confirm > 0) {
    device.measurer.reset();  // its last session's memory is the next one's
    print_confirmed(common, report, [&] { return confirm(arguments, *options, device.tasks); });
  } else if (common.json) {
    print_json(to_json(report));
  }
  return 0;
}

}  // namespace kc
