#pragma once
// The runner's own isolation, entered before a library is loaded (docs/measurement.md, "Isolation").
#include <cstdint>

#include "measure/runner_protocol.h"

namespace kc {

// Limits, namespaces, root folder, user, then the system call filter. Returns kNo... bits. A refused call
// raises SIGSYS. Never fails: what cannot be had is reported.
std::uint32_t enter_sandbox(const RunnerSetup& setup);

// The user id that untrusted programs run under when the harness is root.
inline constexpr unsigned kNobody = 65534;

// Gives up root for `nobody`; false when not root or refused.
bool become_nobody();

}  // namespace kc
