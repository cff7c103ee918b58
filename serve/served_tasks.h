#pragma once
// The tasks of a server, and what clients are told of each.
#include <optional>
#include <string>
#include <vector>

#include "measure/measurer.h"

namespace kc {

struct ServedTask {
  TaskPack pack;
  std::string fingerprint;
  std::optional<Provenance> provenance;
  std::string fault;  // why there is none: a recording lacks the task
};

// Asks the device once for each: it is not thread-safe, and clients ask while it measures. Throws what provenance()
// throws, but for Error{bad_data}.
std::vector<ServedTask> served_tasks(const Measurer& device, std::vector<TaskPack> packs);

// Error{bad_data} for a candidate in a language that the task does not take on this device, which would compile
// whatever it does not know as its own.
void check_languages(const TaskPack& task, const std::vector<Candidate>& candidates);

}  // namespace kc
