#include "measure/memory_need.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

#include "base/error.h"
#include "measure/check.h"
#include "measure/input_pool.h"

namespace kc {
namespace {

namespace fs = std::filesystem;

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// The number behind `key` in a file of lines "key number", or the file's only number; `other` where there is none.
double number_in(const fs::path& path, const std::string& key, double other) {
  std::ifstream file(path);
  double value = 0;
  if (key.empty()) return file >> value ? value : other;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + " ") || line.starts_with(key + ":"))
      return std::strtod(line.c_str() + key.size() + 1, nullptr);
  }
  return other;
}

struct GroupFiles {
  const char* limit;
  const char* usage;
  std::array<const char*, 3> droppable;  // in memory.stat: what the system keeps while nobody needs its room
};
constexpr GroupFiles kVersion1{
    "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file", "slab_reclaimable"}};
constexpr GroupFiles kVersion2{"memory.max", "memory.current", {"inactive_file", "active_file", "slab_reclaimable"}};

double left_in_group(const fs::path& group, const GroupFiles& files) {
  const double limit = number_in(group / files.limit, "", kUnlimited);
  double used = number_in(group / files.usage, "", 0);
  for (const char* droppable : files.droppable) used -= number_in(group / "memory.stat", droppable, 0);
  return std::max(limit - std::max(used, 0.0), 0.0);
}

// The group and those that it is in; in a container the mounted tree may begin at the group itself.
double left_in_groups(const fs::path& tree, const std::string& group, const GroupFiles& files) {
  double left = left_in_group(tree, files);
  fs::path folder = tree;
  for (const fs::path& part : fs::path(group).relative_path()) {
    folder /= part;
    left = std::min(left, left_in_group(folder, files));
  }
  return left;
}

}  // namespace

double usable_memory(const fs::path& root) {
  double left = 1024 * number_in(root / "proc/meminfo", "MemAvailable", kUnlimited);
  const fs::path tree = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // NUMBER:CONTROLLERS:GROUP
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") left = std::min(left, left_in_groups(tree, group, kVersion2));
    if (controllers.find(",memory,") == std::string::npos) continue;
    left = std::min(left, left_in_groups(tree / "memory", group, kVersion1));
  }
  return left;
}

void require_memory(const TaskPack& pack, const SessionNeed& need, double usable) {
  double sets = 0, largest = 0;
  std::string largest_case;
  for (const CaseSpec& input_case : pack.cases) {
    const OutputCheck check{&pack, layout_of(pack.outputs, input_case), layout_of(reference_outputs(pack), input_case)};
    const auto inputs = static_cast<double>(layout_of(pack.inputs, input_case).bytes);
    const double bytes = inputs + static_cast<double>(expected_size(check));
    sets += static_cast<double>(need.sets) * bytes;
    if (bytes > largest) largest_case = input_case.name;
    largest = std::max(largest, bytes);
  }
  const auto bytes_of = [](const ArenaSizes& sizes) {
    return static_cast<double>(sizes.inputs) + static_cast<double>(sizes.outputs);
  };
  const double arenas = bytes_of(arena_sizes(pack, reference_outputs(pack))) +
                        static_cast<double>(need.processes) * bytes_of(arena_sizes(pack, pack.outputs));
  if (sets + arenas <= usable) return;
  throw Error(
      ErrorKind::environment,
      fmt::format("task {}: a session needs at least {:.0f} bytes of memory for input sets and results, and this "
                  "machine, or the control group that this program is in, has {:.0f} bytes left; the largest "
                  "case is {}, one set of which takes {:.0f} bytes: make its sizes in {} smaller, or measure "
                  "where there is more memory",
                  pack.name, sets + arenas, usable, largest_case, largest, (pack.folder / "task.yaml").string()));
}

}  // namespace kc
