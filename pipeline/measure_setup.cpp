#include "pipeline/measure_setup.h"

#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "cuda/cuda_device.h"
#include "pipeline/dataset_views.h"
#include "pipeline/resources.h"

namespace kc {

std::optional<DeviceOptions> read_device_options(const CommonOptions& common) {
  Config config = load_config(common);
  DeviceOptions options;
  options.host = read_host_options(config);
  options.cuda = read_cuda_options(config, options.host);
  ignore_other_sections(config, {"measure"});
  if (show_config(common, config)) return std::nullopt;
  return options;
}

void print_json(const nlohmann::json& value) {
  std::cout << value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n" << std::flush;
}

std::filesystem::path find_tasks(const std::string& path) {
  if (!path.empty()) return find_resource(path);
  throw Error(ErrorKind::usage, "--tasks is empty; expected a task pack or a folder of them, as in --tasks tasks");
}

std::vector<TaskPack> load_tasks(const std::string& path) {
  const auto root = find_tasks(path);
  if (std::filesystem::exists(root / "task.yaml")) return {load_task_pack(root)};
  return load_task_packs(root);
}

OpenDevice open_device(const MeasureArguments& arguments, const DeviceOptions& options,
                       const std::vector<TaskPack>& tasks) {
  OpenDevice device{make_device(arguments.device, options), {}, ""};
  device.kind = kind_of_device(arguments.device, *device.measurer);
  const std::string& kind = device.kind;
  std::vector<std::string> left_out;
  for (const TaskPack& task : tasks) {
    if (task.supports(kind)) {
      device.tasks.push_back(pack_for_device(task, kind));
    } else {
      left_out.push_back(task.name);
    }
  }
  if (device.tasks.empty()) {
    throw Error(ErrorKind::bad_data, fmt::format("no task of {} is for the device {}", arguments.tasks, kind));
  }
  if (!left_out.empty()) {
    log::warning(fmt::format("left out, because they are not for the device {}: {}", kind, fmt::join(left_out, ", ")));
  }
  return device;
}

void admit_tasks(const std::vector<TaskPack>& tasks, const OpenDevice& device, const HostOptions& options,
                 const std::stop_token& stop) {
  Progress progress("admitting", static_cast<std::int64_t>(device.tasks.size()), "tasks");
  for (const TaskPack& task : tasks) {
    if (!task.supports(device.kind)) continue;
    if (const std::optional<TaskPack> pack = pack_for_admission(task, device.kind)) {
      admit_task(*pack, options, stop);
    } else {
      log::warning(fmt::format("task {} is measured without being admitted: it has no seed for the host", task.name));
    }
    progress.advance(1, task.name);
  }
  progress.finish();
}

}  // namespace kc
