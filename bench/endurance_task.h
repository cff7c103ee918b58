#pragma once
// A small task with any number of honest and hostile candidates, for runs that ask what stays behind.
#include <filesystem>
#include <string>

#include "measure/task_pack.h"

namespace kc {

// Writes the pack into `folder`/endurance and loads it. Its template `honest.cpp` has `instances` instances.
TaskPack make_endurance_task(const std::filesystem::path& folder, std::size_t instances);

// Sources that loop, crash, exit, fork, start threads, eat memory, write files, open sockets, flood the compiler's or
// their own output, or do not compile; `index` counts through them.
Candidate hostile_candidate(std::size_t index);
std::size_t hostile_kinds();

}  // namespace kc
