#pragma once
// Public facts of devices, read from configs/hardware.yaml (or --hardware-file).
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace kc {

// For a CPU the fields keep their place with this meaning: compute_capability = the widest vector instruction set,
// multiprocessors = cores, max_threads_per_multiprocessor = threads per core, memory_bus_bits = memory channels x 64.
// 0 or an empty text means: not known (a board or a virtual machine that does not say).
struct Hardware {
  std::string device;
  std::string compute_capability;
  double global_memory_gb = 0;
  int multiprocessors = 0;
  int max_threads_per_multiprocessor = 0;
  double clock_ghz = 0;         // boost clock of a GPU, nominal clock of a CPU
  double memory_clock_ghz = 0;  // as the driver reports it
  int memory_bus_bits = 0;
  bool is_cpu = false;

  // The eight rows of the prompt's table, label and formatted value.
  std::vector<std::pair<std::string, std::string>> rows() const;
};

class HardwareTable {
 public:
  // Error{config} with file and line: unknown or missing key, wrong type, a name or alias given twice.
  static HardwareTable load(const std::filesystem::path& yaml);
  // By name or alias, ignoring case. Error{config} for an unknown device: the nearest names, the generic entries (alias
  // generic-...), and how to add one.
  const Hardware& find(const std::string& device) const;
  bool contains(const std::string& device) const;
  std::vector<std::string> names() const;  // devices in the order of the file, without aliases

 private:
  const Hardware* lookup(const std::string& device) const;

  std::filesystem::path file_;
  std::vector<Hardware> devices_;
  std::vector<std::pair<std::string, std::size_t>> aliases_;  // lower case; the devices' own names among them
};

}  // namespace kc
