#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/table.h"
#include "cuda/doctor.h"
#include "measure/doctor.h"
#include "pipeline/measure_setup.h"

namespace kc {
namespace {

nlohmann::json to_json(const std::vector<TaskFinding>& findings) {
  nlohmann::json list = nlohmann::json::array();
  for (const TaskFinding& f : findings) {
    list.push_back({{"candidate", f.candidate}, {"expected", f.expected}, {"found", f.got}, {"log", f.log}});
  }
  return list;
}

void print_findings(const TaskPack& task, const std::vector<TaskFinding>& findings) {
  std::cout << fmt::format("{}: {}, {} cases, {} candidates\n", task.name, findings.empty() ? "sound" : "NOT sound",
                           task.cases.size(), list_candidates(task).size());
  for (const TaskFinding& finding : findings) {
    std::cout << fmt::format("  {}: expected {}, found {}: {}\n", finding.candidate, finding.expected, finding.got,
                             finding.log);
  }
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
  std::size_t findings = 0;
  nlohmann::json all = nlohmann::json::object();
  for (const TaskPack& whole : load_tasks(arguments.tasks)) {
    if (!whole.supports("host")) {
      std::cout << (common.json ? "" : fmt::format("{}: not for the host\n", whole.name));
      continue;
    }
    const TaskPack task = pack_for_device(whole, "host");
    const std::vector<TaskFinding> found = check_task(task, options->host, interrupt_token());
    findings += found.size();
    all[task.name] = to_json(found);
    if (!common.json) print_findings(task, found);
  }
  if (common.json) std::cout << all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  return findings == 0 ? 0 : exit_code(ErrorKind::check_failed);
}

int doctor_command(const CommonOptions& common, const MeasureArguments& arguments) {
  const std::optional<DeviceOptions> options = read_device_options(common);
  if (!options) return 0;
  const std::vector<DoctorLine> lines = examine(arguments.device, *options);
  if (common.json) {
    std::cout << to_json(lines).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  } else {
    print_lines(lines);
  }
  bool works = true;
  for (const DoctorLine& line : lines) works = works && line.state != DoctorState::missing;
  return works ? 0 : exit_code(ErrorKind::check_failed);
}

}  // namespace kc
