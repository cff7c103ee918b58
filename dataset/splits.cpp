#include "dataset/splits.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/suggest.h"

namespace kc {
namespace {

constexpr std::array<std::string_view, 6> kPartNames = {"train", "validation", "kernels", "task", "device", "unused"};

// normalised_source() of each measurement in two pieces, the define lines and the body. A template's body is normalised
// once, however many instances it has; bodies of equal text share a number.
class NormalisedTexts {
 public:
  explicit NormalisedTexts(const Store& store) {
    std::unordered_map<std::string_view, std::size_t> of_source;
    std::unordered_map<std::string, std::size_t> of_body;
    for (const Measurement& m : store.measurements) {
      const auto [it, added] = of_source.try_emplace(m.kernel.source, 0);
      if (added) it->second = number_of(m.kernel, of_body);
      body_.push_back(it->second);
    }
  }

  std::size_t body(std::size_t row) const { return body_[row]; }
  const std::string& body_hash(std::size_t row) const { return hashes_[body_[row]]; }

 private:
  std::size_t number_of(KernelText kernel, std::unordered_map<std::string, std::size_t>& of_body) {
    kernel.parameters.clear();
    const auto [it, added] = of_body.try_emplace(normalised_source(kernel), hashes_.size());
    if (added) hashes_.push_back(sha256_hex(it->first));
    return it->second;
  }

  std::vector<std::string> hashes_;
  std::vector<std::size_t> body_;
};

std::string defines_of(const KernelText& kernel) {
  std::string text;
  for (const auto& [name, value] : kernel.parameters) text += name + " " + value + "\n";
  return text;
}

std::vector<std::string> text_keys(const Store& store) {
  const NormalisedTexts texts(store);
  std::vector<std::string> keys;
  keys.reserve(store.measurements.size());
  for (std::size_t i = 0; i < store.measurements.size(); ++i) {
    keys.push_back(sha256_hex(defines_of(store.measurements[i].kernel) + texts.body_hash(i)));
  }
  return keys;
}

// The first 13 hexadecimal digits are 52 uniform bits.
double uniform_of(const std::string& hash) {
  return static_cast<double>(std::stoull(hash.substr(0, 13), nullptr, 16)) * 0x1p-52;
}

Part draw_of(const std::string& text_key, const SplitOptions& options) {
  const double u = uniform_of(sha256_hex(fmt::format("split {} {}", options.seed, text_key)));
  if (u < options.test_fraction) return Part::kernels;
  if (u < options.test_fraction + options.validation_fraction) return Part::validation;
  return Part::train;
}

bool names(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

void check_names(const std::set<std::string>& known, const std::vector<std::string>& given, const std::string& key) {
  const std::vector<std::string> candidates(known.begin(), known.end());
  for (const std::string& name : given) {
    if (known.contains(name)) continue;
    throw Error(ErrorKind::config, fmt::format("{} names '{}', which the data does not hold{}; it holds: {}", key, name,
                                               did_you_mean(name, candidates), fmt::join(candidates, ", ")));
  }
}

void check_names(const Store& store, const SplitOptions& options) {
  std::set<std::string> tasks, devices;
  for (const Measurement& m : store.measurements) {
    tasks.insert(m.task);
    devices.insert(m.provenance.device);
  }
  check_names(tasks, options.held_out_tasks, "data.split.held_out_tasks");
  check_names(tasks, options.tasks, "data.tasks");
  check_names(devices, options.held_out_devices, "data.split.held_out_devices");
  check_names(devices, options.devices, "data.devices");
}

Part part_before_leaks(const Measurement& m, const std::string& text_key, const SplitOptions& options) {
  if (!options.tasks.empty() && !names(options.tasks, m.task)) return Part::unused;
  if (!options.devices.empty() && !names(options.devices, m.provenance.device)) return Part::unused;
  if (names(options.held_out_tasks, m.task)) return Part::task;
  if (names(options.held_out_devices, m.provenance.device)) return Part::device;
  return draw_of(text_key, options);
}

// 0 train, 1 validation, 2 test.
int side_of(Part part) { return part == Part::train ? 0 : part == Part::validation ? 1 : 2; }

}  // namespace

std::string name_of(Part part) { return std::string(kPartNames[static_cast<std::size_t>(part)]); }

Part part_of(const std::string& name) {
  const auto it = std::find(kPartNames.begin(), kPartNames.end(), name);
  if (it == kPartNames.end()) {
    throw Error(ErrorKind::usage,
                fmt::format("unknown split '{}'; choose one of {}", name, fmt::join(kPartNames, ", ")));
  }
  return static_cast<Part>(it - kPartNames.begin());
}

SplitOptions read_split_options(Config& config) {
  ConfigSection s = config.section("data");
  SplitOptions o;
  o.seed = static_cast<std::uint64_t>(
      s.integer("split.seed", 1, {.meaning = "seed of the split; the same seed gives the same parts", .min = 0}));
  o.validation_fraction =
      s.number("split.validation_fraction", o.validation_fraction,
               {.meaning = "share of kernel texts held out for choosing recipes", .min = 0, .max = 1});
  o.test_fraction = s.number("split.test_fraction", o.test_fraction,
                             {.meaning = "share of kernel texts held out for the test", .min = 0, .max = 1});
  o.held_out_tasks = s.texts("split.held_out_tasks", {}, {.meaning = "tasks that make up the part `task`"});
  o.held_out_devices = s.texts("split.held_out_devices", {}, {.meaning = "devices that make up the part `device`"});
  o.device_new_kernels = s.boolean("split.device_new_kernels", true,
                                   {.meaning = "part `device`: only kernels unknown from other devices; false keeps "
                                               "every row of the held-out devices"});
  o.tasks = s.texts("tasks", {}, {.meaning = "tasks to use; empty: all"});
  o.devices = s.texts("devices", {}, {.meaning = "devices to use; empty: all"});
  if (o.validation_fraction + o.test_fraction >= 1) {
    s.fault("split.test_fraction", "validation_fraction and test_fraction leave nothing to train on");
  }
  return o;
}

std::vector<Part> assign_parts(const Store& store, const SplitOptions& options) {
  check_names(store, options);
  const std::vector<std::string> keys = text_keys(store);
  std::vector<Part> parts;
  parts.reserve(keys.size());
  std::unordered_set<std::string_view> learnt;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    parts.push_back(part_before_leaks(store.measurements[i], keys[i], options));
    if (side_of(parts[i]) < 2) learnt.insert(keys[i]);
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool strict = parts[i] == Part::task || (parts[i] == Part::device && options.device_new_kernels);
    if (strict && learnt.contains(keys[i])) parts[i] = Part::unused;
  }
  return parts;
}

std::vector<std::string> find_leaks(const Store& store, const std::vector<Part>& parts, bool known_devices) {
  const NormalisedTexts texts(store);
  // Text (body and define lines) -> the first row of each part that holds it.
  std::map<std::pair<std::size_t, std::string>, std::map<Part, std::size_t>> holders;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == Part::unused) continue;
    holders[{texts.body(i), defines_of(store.measurements[i].kernel)}].try_emplace(parts[i], i);
  }
  std::vector<std::string> leaks;
  for (const auto& [text, rows] : holders) {
    for (auto first = rows.begin(); first != rows.end(); ++first) {
      for (auto second = std::next(first); second != rows.end(); ++second) {
        if (side_of(first->first) == side_of(second->first)) continue;
        if (known_devices && second->first == Part::device) continue;
        const Measurement& m = store.measurements[second->second];
        leaks.push_back(fmt::format("{} ({}, {}): its text stands in {} and in {}", m.kernel_name, m.task,
                                    m.provenance.device, name_of(first->first), name_of(second->first)));
      }
    }
  }
  return leaks;
}

}  // namespace kc
