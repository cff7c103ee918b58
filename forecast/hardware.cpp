#include "forecast/hardware.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/error.h"
#include "base/suggest.h"

namespace kc {

namespace {

const std::vector<std::string> kKeys = {"device",
                                        "aliases",
                                        "kind",
                                        "compute_capability",
                                        "global_memory_gb",
                                        "multiprocessors",
                                        "max_threads_per_multiprocessor",
                                        "clock_ghz",
                                        "memory_clock_ghz",
                                        "memory_bus_bits"};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

[[noreturn]] void fail(const std::filesystem::path& file, const YAML::Mark& mark, const std::string& what) {
  throw Error(ErrorKind::config, fmt::format("{}:{}: {}", file.string(), mark.line + 1, what));
}

template <class T>
T value_of(const std::filesystem::path& file, const YAML::Node& entry, const std::string& key, const char* expected) {
  const YAML::Node node = entry[key];
  if (!node) fail(file, entry.Mark(), fmt::format("device entry without '{}': expected {}", key, expected));
  try {
    return node.as<T>();
  } catch (const YAML::Exception&) {
    fail(file, node.Mark(), fmt::format("'{}' is not {}", key, expected));
  }
}

void check_keys(const std::filesystem::path& file, const YAML::Node& entry) {
  if (!entry.IsMap()) fail(file, entry.Mark(), "a device entry must be a map of keys and values");
  for (const auto& pair : entry) {
    const auto key = pair.first.as<std::string>();
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      fail(file, pair.first.Mark(), fmt::format("unknown key '{}'{}", key, did_you_mean(key, kKeys)));
    }
  }
}

Hardware read_entry(const std::filesystem::path& file, const YAML::Node& entry) {
  check_keys(file, entry);
  const auto number = [&](const char* key) { return value_of<double>(file, entry, key, "a number (0: not known)"); };
  const auto count = [&](const char* key) { return value_of<int>(file, entry, key, "a whole number (0: not known)"); };
  Hardware h;
  h.device = value_of<std::string>(file, entry, "device", "a name");
  const auto kind = value_of<std::string>(file, entry, "kind", "gpu or cpu");
  if (kind != "gpu" && kind != "cpu") fail(file, entry["kind"].Mark(), "'kind' must be gpu or cpu");
  h.is_cpu = kind == "cpu";
  h.compute_capability = value_of<std::string>(file, entry, "compute_capability", "a text");
  h.global_memory_gb = number("global_memory_gb");
  h.multiprocessors = count("multiprocessors");
  h.max_threads_per_multiprocessor = count("max_threads_per_multiprocessor");
  h.clock_ghz = number("clock_ghz");
  h.memory_clock_ghz = number("memory_clock_ghz");
  h.memory_bus_bits = count("memory_bus_bits");
  return h;
}

YAML::Node read_devices(const std::filesystem::path& file) {
  try {
    const YAML::Node root = YAML::LoadFile(file.string());
    if (root.IsMap() && root["devices"] && root["devices"].IsSequence()) return root["devices"];
  } catch (const YAML::BadFile&) {
    throw Error(ErrorKind::config, fmt::format("cannot read the hardware table {}: check the path", file.string()));
  } catch (const YAML::ParserException& e) {
    fail(file, e.mark, fmt::format("not YAML: {}", e.msg));
  }
  throw Error(ErrorKind::config,
              fmt::format("{}: expected a list 'devices' (configs/hardware.yaml shows the form)", file.string()));
}

std::string known(double value, int digits) { return value > 0 ? fmt::format("{:.{}f}", value, digits) : "unknown"; }

}  // namespace

std::vector<std::pair<std::string, std::string>> Hardware::rows() const {
  return {{"Device", device},
          {is_cpu ? "Vector instructions" : "Compute capability",
           compute_capability.empty() ? "unknown" : compute_capability},
          {is_cpu ? "Main memory (GB)" : "Global memory (GB)", known(global_memory_gb, 1)},
          {is_cpu ? "Cores" : "Multiprocessors", known(multiprocessors, 0)},
          {is_cpu ? "Threads per core" : "Max threads per multiprocessor", known(max_threads_per_multiprocessor, 0)},
          {"Clock (GHz)", known(clock_ghz, 2)},
          {"Memory clock (GHz)", known(memory_clock_ghz, 2)},
          {"Memory bus width (bits)", known(memory_bus_bits, 0)}};
}

HardwareTable HardwareTable::load(const std::filesystem::path& yaml) {
  HardwareTable table;
  table.file_ = yaml;
  for (const YAML::Node& entry : read_devices(yaml)) {
    table.devices_.push_back(read_entry(yaml, entry));
    std::vector<std::string> names = {table.devices_.back().device};
    if (entry["aliases"]) {
      const auto aliases = value_of<std::vector<std::string>>(yaml, entry, "aliases", "a list of names");
      names.insert(names.end(), aliases.begin(), aliases.end());
    }
    for (const std::string& name : names) {
      if (table.lookup(name) != nullptr) fail(yaml, entry.Mark(), fmt::format("the name '{}' is given twice", name));
      table.aliases_.emplace_back(lower(name), table.devices_.size() - 1);
    }
  }
  return table;
}

const Hardware* HardwareTable::lookup(const std::string& device) const {
  const std::string wanted = lower(device);
  const auto it = std::find_if(aliases_.begin(), aliases_.end(), [&](const auto& a) { return a.first == wanted; });
  return it == aliases_.end() ? nullptr : &devices_[it->second];
}

bool HardwareTable::contains(const std::string& device) const { return lookup(device) != nullptr; }

std::vector<std::string> HardwareTable::names() const {
  std::vector<std::string> result;
  for (const Hardware& h : devices_) result.push_back(h.device);
  return result;
}

const Hardware& HardwareTable::find(const std::string& device) const {
  if (const Hardware* found = lookup(device)) return *found;
  // The nearest names: those that contain the wanted text first, then by edit distance.
  const std::string wanted = lower(device);
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const auto& [alias, index] : aliases_) {
    const bool contained = !wanted.empty() && alias.find(wanted) != std::string::npos;
    ranked.emplace_back(contained ? 0 : 1 + edit_distance(wanted, alias), devices_[index].device);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> nearest;
  for (const auto& [distance, name] : ranked) {
    if (nearest.size() < 3 && std::find(nearest.begin(), nearest.end(), name) == nearest.end()) nearest.push_back(name);
  }
  std::vector<std::string> generic;
  for (const auto& [alias, index] : aliases_)
    if (alias.starts_with("generic-")) generic.push_back(alias);
  throw Error(ErrorKind::config,
              fmt::format("unknown device '{}' in {}; nearest: {}{}. Use one of its names, add an entry (or an alias) "
                          "with the device's public facts to that file, or give your own with --hardware-file FILE",
                          device, file_.string(), fmt::join(nearest, ", "),
                          generic.empty() ? "" : fmt::format("; generic: {}", fmt::join(generic, ", "))));
}

}  // namespace kc
