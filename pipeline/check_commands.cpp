#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/table.h"
#include "cuda/doctor.h"
#include "measure/doctor.h"
#include "pipeline/check_cuda.h"
#include "pipeline/measure_setup.h"

namespace kc {
namespace {

void print_check(const TaskPack& task, const TaskCheck& check) {
  std::cout << fmt::format("{}: {}, {} cases, {} candidates", task.name, check.findings.empty() ? "sound" : "NOT sound",
                           task.cases.size(), list_candidates(task).size());
  if (!check.closest.empty()) {
    std::cout << fmt::format(", largest accepted error {:.2g} % of the tolerance ({})", 100 * check.tolerance_share,
                             check.closest);
  }
  std::cout << "\n" << findings_text(check.findings) << std::flush;
}

// Those with a part for `device`; the others are skipped, but one must remain.
std::vector<TaskPack> tasks_for(const std::string& device, const std::vector<TaskPack>& packs) {
  std::vector<TaskPack> kept;
  std::vector<std::string> skipped;
  for (const TaskPack& pack : packs) {
    if (pack.supports(device)) {
      kept.push_back(pack);
    } else {
      skipped.push_back(pack.name);
    }
  }
  if (kept.empty()) {
    throw Error(ErrorKind::bad_data,
                fmt::format("nothing to check: no part for {0} in {1}; check another task with --tasks or another part "
                            "with --device, or name {0} in `devices` of its task.yaml (docs/task-packs.md)",
                            device, fmt::join(skipped, ", ")));
  }
  if (!skipped.empty())
    log::warning(fmt::format("skipped, without a part for {}: {}", device, fmt::join(skipped, ", ")));
  return kept;
}

// The number of findings.
std::size_t check_on_host(const std::vector<TaskPack>& packs, const DeviceOptions& options, bool json) {
  std::size_t findings = 0;
  nlohmann::json all = nlohmann::json::object();
  for (const TaskPack& whole : tasks_for("host", packs)) {
    const TaskPack task = pack_for_device(whole, "host");
    const TaskCheck check = check_task(task, options.host, interrupt_token());
    findings += check.findings.size();
    all[task.name] = to_json(check.findings);
    if (!json) print_check(task, check);
  }
  if (json) print_json(all);
  return findings;
}

std::size_t check_on_cuda(const std::vector<TaskPack>& packs, const DeviceOptions& options, bool json) {
  std::size_t findings = 0;
  nlohmann::json tasks = nlohmann::json::object();
  for (const TaskPack& pack : tasks_for("cuda", packs)) {
    const CudaCheck check = check_cuda_task(pack, options.cuda, interrupt_token());
    findings += check.findings.size();
    tasks[check.task] = to_json(check);
    if (!json) std::cout << check_text(check) << std::flush;
  }
  if (json) {
    print_json({{"tasks", tasks}, {"not_shown", kNotShownWithoutGpu}});
  } else {
    std::cout << not_shown_text();
  }
  return findings;
}

std::vector<DoctorLine> examine(const std::string& device, const DeviceOptions& options) {
  if (device == "host") return host_doctor(options.host, interrupt_token());
  if (const auto index = cuda_index(device)) {
    CudaOptions cuda = options.cuda;
    cuda.index = *index;
    return cuda_doctor(cuda, interrupt_token());
  }
  throw Error(ErrorKind::usage,
              fmt::format("the doctor examines devices of this machine, host or cuda, not '{}'", device));
}

nlohmann::json to_json(const std::vector<DoctorLine>& lines) {
  nlohmann::json list = nlohmann::json::array();
  for (const DoctorLine& line : lines) {
    list.push_back({{"name", line.name},
                    {"state", std::string(name_of(line.state))},
                    {"detail", line.detail},
                    {"advice", line.advice}});
  }
  return list;
}

void print_lines(const std::vector<DoctorLine>& lines) {
  Table table({"what", "state", "found"});
  for (const DoctorLine& line : lines) table.add_row({line.name, std::string(name_of(line.state)), line.detail});
  std::cout << table.render();
  for (const DoctorLine& line : lines) {
    if (!line.advice.empty()) std::cout << fmt::format("{}: {}\n", line.name, line.advice);
  }
}

}  // namespace

int check_command(const CommonOptions& common, const MeasureArguments& arguments) {
  const std::optional<DeviceOptions> options = read_device_options(common);
  if (!options) return 0;
  const bool cuda = cuda_index(arguments.device).has_value();
  if (!cuda && arguments.device != "host") {
    throw Error(ErrorKind::usage,
                fmt::format("check admits the host or cuda part of task packs, not '{}'", arguments.device));
  }
  const std::vector<TaskPack> packs = load_tasks(arguments.tasks);
  const std::size_t findings =
      cuda ? check_on_cuda(packs, *options, common.json) : check_on_host(packs, *options, common.json);
  return findings == 0 ? 0 : exit_code(ErrorKind::check_failed);
}

int doctor_command(const CommonOptions& common, const MeasureArguments& arguments) {
  const std::optional<DeviceOptions> options = read_device_options(common);
  if (!options) return 0;
  const std::vector<DoctorLine> lines = examine(arguments.device, *options);
  if (common.json) {
    print_json(to_json(lines));
  } else {
    print_lines(lines);
  }
  bool works = true;
  for (const DoctorLine& line : lines) works = works && line.state != DoctorState::missing;
  return works ? 0 : exit_code(ErrorKind::check_failed);
}

}  // namespace kc
