#pragma once
// Parts of the doctor that start processes.
#include "measure/doctor.h"

namespace kc {

// Each piece of isolation by a process that puts it in place and then tries what it must prevent.
std::vector<DoctorLine> isolation_lines(const HostOptions& options);

// A small kernel timed against itself in another process: how far apart, and whether somebody else used the core.
std::vector<DoctorLine> trial_lines(const HostOptions& options, const std::stop_token& stop);

}  // namespace kc
