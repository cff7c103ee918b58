#pragma once
// What NVIDIA's management library says of a device: other processes, clocks, temperature. libnvidia-ml.so.1, loaded at
// run time; comes with the driver.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kc {

struct GpuHealth {
  std::vector<unsigned> processes;  // ids of those that compute or draw on the device
  std::optional<unsigned> sm_mhz;
  std::optional<unsigned> highest_sm_mhz;
  std::optional<unsigned> memory_mhz;
  std::optional<unsigned> temperature_c;
  std::optional<double> power_w;
  std::optional<bool> persistence;  // persistence mode
};

class GpuMonitor {
 public:
  virtual ~GpuMonitor() = default;
  virtual GpuHealth read(int device) = 0;
};

// Nothing when the library is missing or does not start; `why` says so. It reads the device with this UUID, as
// GpuDevice has it, where it knows one: its own numbers do not follow CUDA_VISIBLE_DEVICES.
std::unique_ptr<GpuMonitor> load_nvml(std::string& why, const std::string& uuid);

// "GPU-01234567-89ab-...", of 32 hexadecimal digits.
std::string nvml_uuid(std::string_view uuid);

// Processes that use the device before any of ours does, in order, each once. Those of ours that have just ended get a
// moment to leave.
std::vector<unsigned> foreign_processes(GpuMonitor& monitor, int device);

// Waits until no process but `own` uses the device: at most `seconds`. The ids that stayed.
std::vector<unsigned> wait_until_idle(GpuMonitor& monitor, int device, const std::vector<unsigned>& own,
                                      double seconds);

}  // namespace kc
