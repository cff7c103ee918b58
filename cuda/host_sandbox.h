#pragma once
// The second isolation of a runner, entered when the driver is there and before host code of a candidate is loaded
// (docs/cuda.md, "Host code").
#include <span>
#include <string>

#include "measure/landlock.h"

namespace kc {

// From here on no thread of this process starts a program or process, has a socket or signals another process, and this
// thread and those that it starts reach `paths` only: host_code_paths, taken before the first sandbox closed /dev,
// without a folder. The pieces that this machine does not offer, in words; empty when all are there.
std::string enter_host_code_sandbox(std::span<const LandlockPath> paths);

}  // namespace kc
