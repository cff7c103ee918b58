#pragma once
// Public facts of devices, read from configs/hardware.yaml (or --hardware-file).
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace kc {

// For a CPU the fields keep their place with this meaning: compute_capability = the widest vector instruction set,
// multiprocessors = cores, max_threads_per_multiprocessor = threads per core, memory_bus_bits = memory channels x 64.
struct Hardware {
  std::string device;
  std::string compute_capability;
  double global_memory_gb = 0;
  int multiprocessors = 0;
  int max_threads_per_multiprocessor = 0;
  double clock_ghz = 0;
  double memory_clock_ghz = 0;
  int memory_bus_bits = 0;
  bool is_cpu = false;

  // The eight rows of the prompt's table, label and formatted value.
  std::vector<std::pair<std::string, std::string>> rows() const;
};

class HardwareTable {
 public:
  static HardwareTable load(const std::filesystem::path& yaml);
  // By name or alias. Error{config} for an unknown device: the nearest names, and how to add one.
  const Hardware& find(const std::string& device) const;
  bool contains(const std::string& device) const;

 private:
  std::vector<Hardware> devices_;
  std::vector<std::pair<std::string, std::size_t>> aliases_;
};

}  // namespace kc
