#pragma once
// The isolation of the process that runs candidates on a GPU (docs/cuda.md, "Processes"). It enters before the driver
// is loaded, so everything that the driver opens is listed here.
#include <cstdint>
#include <string>
#include <vector>

#include "measure/landlock.h"

namespace kc {

// What the driver and its libraries touch: the system's libraries, /proc and /sys for reading; the devices of NVIDIA,
// this process's own /proc folder and `folder` (unless it is empty) for writing; `readable` (folders of libraries) for
// reading.
std::vector<LandlockPath> gpu_paths(const std::string& folder, const std::vector<std::string>& readable);

// The same for host code, when the driver runs already: of other processes nothing can be read, since their environment
// and memory maps stand below /proc.
std::vector<LandlockPath> host_code_paths(const std::vector<std::string>& readable);

// Network, IPC and host name of its own, Landlock, and a filter of system calls, for the rest of this process's life.
// To be called before a second thread starts. `folder` is private to this process and holds its temporary files.
// Returns kNo... bits (measure/runner_protocol.h) of what this machine does not offer.
std::uint32_t enter_gpu_sandbox(const std::string& folder, const std::vector<std::string>& readable);

}  // namespace kc
