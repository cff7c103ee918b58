#include "serve/served_tasks.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/printable.h"
#include "serve/protocol.h"

namespace kc {
std::vector<ServedTask> served_tasks(const Measurer& device, std::vector<TaskPack> packs) {
  std::vector<ServedTask> tasks;
  for (TaskPack& pack : packs) {
    ServedTask task{std::move(pack), "", {}, ""};
    task.fingerprint = task_fingerprint(task.pack);
    try {
      task.provenance = device.provenance(task.pack);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_data) throw;
      task.fault = error.what();
    }
    tasks.push_back(std::move(task));
  }
  return tasks;
}

void check_languages(const TaskPack& task, const std::vector<Candidate>& candidates) {
  const std::vector<std::string> known = languages_of(task);
  if (known.empty()) return;
  for (const Candidate& candidate : candidates) {
    const std::string& language = candidate.kernel.language;
    if (std::find(known.begin(), known.end(), language) != known.end()) continue;
    throw Error(ErrorKind::bad_data,
                fmt::format("candidate '{}' is written in '{}'; the task '{}' takes {} here", printable(candidate.name),
                            printable(language), task.name, fmt::join(known, " and ")));
  }
}

}  // namespace kc
