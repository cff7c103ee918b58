#pragma once
// The runner's own isolation, entered before a library is loaded (docs/measurement.md, "Isolation").
#include <cstdint>

#include "measure/runner_protocol.h"

namespace kc {

// Limits, namespaces, Landlock, root folder, user, then the system call filter. Returns kNo... bits. A refused call
// raises SIGSYS. Never fails: what cannot be had is reported.
std::uint32_t enter_sandbox(const RunnerSetup& setup);

// The same for a compiler, which may write below `folder`, read what is installed (`compiler` included), start
// programs, and nothing else. Call before root is given up.
std::uint32_t enter_compiler_sandbox(const char* folder, const char* compiler);

// Everything but computing and reading is refused from here on. False when the kernel cannot.
bool filter_system_calls(bool threads);

// Network, mounts, IPC and host name of its own; without root inside a user namespace.
bool enter_namespaces();

// Joins control groups: "path:path" of their cgroup.procs, or "-".
void join_cgroups(const char* files);

// The user id that untrusted programs run under when the harness is root.
inline constexpr unsigned kNobody = 65534;

// Gives up root for `nobody`; false when not root or refused.
bool become_nobody();

}  // namespace kc
