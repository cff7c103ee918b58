#include "pipeline/host_hardware.h"

#include <algorithm>

#include <fmt/format.h>

namespace kc {

std::vector<std::string> generic_device_names() {
  std::vector<std::string> names;
#if defined(__x86_64__) || defined(__i386__)
  if (__builtin_cpu_supports("avx512f")) names.emplace_back("generic-avx512");
  if (__builtin_cpu_supports("avx2")) names.emplace_back("generic-avx2");
#endif
  return names;
}

HostHardware host_hardware(const HardwareTable& table, const std::string& processor,
                           const std::vector<std::string>& generic) {
  const auto stand_in =
      std::find_if(generic.begin(), generic.end(), [&](const std::string& name) { return table.contains(name); });
  if (table.contains(processor) || stand_in == generic.end()) return {table.find(processor), ""};
  HostHardware host{table.find(*stand_in), ""};
  host.warning = fmt::format(
      "this machine's processor '{}' is not in the hardware table: forecasting for the generic entry '{}' ({}); name "
      "another with --hardware",
      processor, *stand_in, host.hardware.device);
  return host;
}

}  // namespace kc
