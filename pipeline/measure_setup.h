#pragma once
// What the subcommands of `measure` begin with.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "pipeline/measure_commands.h"

namespace kc {

// Sections `measure` and `cuda`; nothing when the configuration was shown and there is no more to do.
std::optional<DeviceOptions> read_device_options(const CommonOptions& common);

// The folder that --tasks names; Error{usage} where it names none.
std::filesystem::path find_tasks(const std::string& path);
// One line on standard output, at once; bytes that are no UTF-8 are replaced.
void print_json(const nlohmann::json& value);

// The pack at `path`, or every pack below it.
std::vector<TaskPack> load_tasks(const std::string& path);

struct OpenDevice {
  std::unique_ptr<Measurer> measurer;
  std::vector<TaskPack> tasks;  // those that the device supports, as it sees them
  std::string kind;             // host or cuda
};

// Opens the device and leaves out, with a warning, the tasks that do not name it; Error{bad_data} when none is left.
OpenDevice open_device(const MeasureArguments& arguments, const DeviceOptions& options,
                       const std::vector<TaskPack>& tasks);

// Admits the device's tasks on its cases, as far as this machine's CPU can; `tasks` are those it was opened for.
// Error{bad_data} as admit_task; a warning for tasks without a part for the host.
void admit_tasks(const std::vector<TaskPack>& tasks, const OpenDevice& device, const HostOptions& options,
                 const std::stop_token& stop);

}  // namespace kc
