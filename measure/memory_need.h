#pragma once
// Whether the machine has the memory that a session takes, asked before any of it is taken: a size with three digits
// too many would fill the machine first, and then somebody's process is killed.
#include <cstddef>
#include <filesystem>

#include "measure/task_pack.h"

namespace kc {

// Bytes that may still be taken: of the machine, and of the control groups that this process is in. Infinity where
// nobody tells. Files are below `root` (tests).
double usable_memory(const std::filesystem::path& root = "/");

struct SessionNeed {
  std::size_t sets = 1;       // of each case that the harness keeps at least, with what the reference computes for them
  std::size_t processes = 0;  // beside the reference's, with inputs and outputs of their own
};

// Error{environment} names the task, its largest case, the bytes that are needed and those that are there.
void require_memory(const TaskPack& pack, const SessionNeed& need, double usable);

}  // namespace kc
