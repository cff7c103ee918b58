#pragma once
// What a machine offers to measurements and what it lacks: the lines of `measure doctor`. Each device adds its own.
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "measure/host_device.h"

namespace kc {

enum class DoctorState {
  ok,
  warning,  // measuring works, with less isolation or more noise
  missing,  // measuring does not work, or not on untrusted sources
};
std::string_view name_of(DoctorState state);

struct DoctorLine {
  std::string name;  // "landlock", "timer resolution"
  DoctorState state = DoctorState::ok;
  std::string detail;  // what was found, with numbers and units
  std::string advice;  // what to do; empty when ok
};

// The CPU as a device: each piece of isolation by trying it, compiler, cores, clock frequency, load, timer, real-time
// priority, address space, memory, disk, and the noise of timing a kernel against itself. Blocks for some seconds,
// holds the machine's timing lock for the last part. Never throws for what is missing; Error{interrupted} when stopped.
std::vector<DoctorLine> host_doctor(const HostOptions& options, const std::stop_token& stop);

}  // namespace kc
