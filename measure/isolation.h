#pragma once
// What to do about isolation that a machine cannot give (docs/measurement.md, "Isolation").
#include <cstdint>
#include <string>

#include "measure/cgroup.h"
#include "measure/host_device.h"

namespace kc {

// Whether a process without these pieces (kNo... bits of runner_protocol.h) still reaches no file, program, socket or
// other process: it has the system call filter, and a root folder of its own or Landlock.
bool is_confined(std::uint32_t missing);

// Says what is missing. `mode` is measure.sandbox: Error{environment} for 'require' with anything missing and for
// 'auto' when a candidate would not be confined; a warning otherwise.
void report_missing(const std::string& mode, std::uint32_t missing);

// Limits for one untrusted process group: memory_limit_mb, and so many processes and threads.
Cgroup make_cgroup(const HostOptions& options, std::uint64_t processes);

}  // namespace kc
