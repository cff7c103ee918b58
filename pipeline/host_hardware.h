#pragma once
// The facts of the machine that the program runs on, as prompts show them.
#include <string>
#include <vector>

#include "forecast/hardware.h"

namespace kc {

// Aliases of the generic entries whose instructions this processor has, widest first; none where it has neither AVX2
// nor AVX-512.
std::vector<std::string> generic_device_names();

struct HostHardware {
  Hardware hardware;
  std::string warning;  // names the processor and the generic entry that stands in for it; empty: it has its own
};

// The processor's own entry, else the first of `generic` that the table holds. Error{config} as HardwareTable::find
// where it holds none of them.
HostHardware host_hardware(const HardwareTable& table, const std::string& processor,
                           const std::vector<std::string>& generic);

}  // namespace kc
