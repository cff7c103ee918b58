#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/suggest.h"
#include "cuda/baseline.h"
#include "pipeline/compare_kernels.h"
#include "pipeline/kernel_file.h"
#include "pipeline/measure_setup.h"

namespace kc {
namespace {

TaskPack load_named_task(const MeasureArguments& arguments) {
  const std::filesystem::path root = find_tasks(arguments.tasks);
  const bool one = std::filesystem::exists(root / "task.yaml");
  const std::filesystem::path folder = one ? root : root / arguments.task;
  if (!arguments.task.empty() && std::filesystem::exists(folder / "task.yaml")) {
    TaskPack pack = load_tasks(folder.string()).front();
    if (pack.name == arguments.task) return pack;
  }
  std::vector<std::string> names;
  for (const TaskPack& pack : load_tasks(arguments.tasks)) names.push_back(pack.name);
  throw Error(ErrorKind::usage,
              fmt::format("compare needs --task NAME with the task pack NAME at {}{}, found '{}'{}; there are {}",
                          arguments.tasks, one ? "" : "/NAME/task.yaml", arguments.task,
                          did_you_mean(arguments.task, names), fmt::join(names, ", ")));
}

// A kernel or a baseline of the task, as the device sees it, by the name that labelling prints.
Candidate named_candidate(const std::string& name, const TaskPack& task) {
  std::vector<std::string> names;
  for (Candidate& candidate : device_candidates(task)) {
    if (candidate.name == name) return {name, std::move(candidate.kernel), false, ""};
    names.push_back(std::move(candidate.name));
  }
  throw Error(ErrorKind::usage,
              fmt::format("'{}' is neither a file nor a kernel of task {}{}; kernels have the names that `measure "
                          "label` prints, in quotes",
                          name, task.name, did_you_mean(name, names)));
}

void require_language(const std::string& file, const std::string& language, const TaskPack& task,
                      const std::string& device) {
  const std::vector<std::string> taken = languages_of(task);
  if (std::ranges::find(taken, language) != taken.end()) return;
  throw Error(ErrorKind::usage,
              fmt::format("{}: a kernel in {} by the name of its file; a device of the kind {} takes {}", file,
                          language, device, fmt::join(taken, " and ")));
}

// The whole file as one source, so that the compiler's lines are the file's.
Candidate read_candidate(const std::string& file, const TaskPack& task, const std::string& device) {
  if (!std::filesystem::exists(file)) return named_candidate(file, task);
  KernelText kernel = read_kernel_file(file);
  require_language(file, kernel.language, task, device);
  kernel.source = instantiated_source(kernel);
  kernel.parameters.clear();
  kernel.template_id = kernel_id(kernel);
  return {file, std::move(kernel), false, ""};
}

bool takes_any_seed(const std::string& device) { return device == "host" || device == "fake"; }

}  // namespace

int compare_command(const CommonOptions& common, const MeasureArguments& arguments) {
  std::optional<DeviceOptions> options = read_device_options(common);
  if (!options) return 0;
  if (arguments.files.size() != 2)
    throw Error(ErrorKind::usage, "give the two kernels to compare: files, or names of the task's kernels");
  const TaskPack task = load_named_task(arguments);
  options->token = remote_token(arguments.token_file);
  const OpenDevice device = open_device(arguments, *options, {task});
  const TaskPack& own = device.tasks.front();
  const Candidate a = read_candidate(arguments.files[0], own, device.kind);
  const Candidate b = read_candidate(arguments.files[1], own, device.kind);
  const KernelComparison comparison =
      compare_kernels(own, a, b, *device.measurer, takes_any_seed(arguments.device), interrupt_token());
  if (common.json) {
    print_json(to_json(comparison));
  } else {
    std::cout << comparison_text(comparison);
  }
  return comparison.ok ? 0 : exit_code(ErrorKind::check_failed);
}

}  // namespace kc
