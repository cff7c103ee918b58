#pragma once
// Which measurements train, which validate and which test. A kernel's normalised text never stands in two parts.
#include <cstdint>
#include <string>
#include <vector>

#include "base/config.h"
#include "dataset/label_store.h"

namespace kc {

enum class Part {
  train,
  validation,  // known tasks and devices, held-out kernels: recipes are chosen here
  kernels,     // known tasks and devices, held-out kernels: the test
  task,        // held-out tasks (on any device)
  device,      // held-out devices (known tasks)
  unused,      // excluded by data.tasks / data.devices
};
std::string name_of(Part part);
Part part_of(const std::string& name);  // Error{usage} when unknown

struct SplitOptions {  // section `data`, keys under `data.split`
  std::uint64_t seed = 1;
  double validation_fraction = 0.1;
  double test_fraction = 0.1;
  std::vector<std::string> held_out_tasks;
  std::vector<std::string> held_out_devices;
  std::vector<std::string> tasks;    // only these (empty: all)
  std::vector<std::string> devices;  // only these (empty: all)
};
SplitOptions read_split_options(Config& config);

// Part of each measurement of the store, in its order. Assignment hashes the normalised kernel text with the seed, so
// adding rows moves no other row. Held-out task or device wins over the kernel's own draw; `unused` where not selected.
// Error{config} names an unknown task or device.
std::vector<Part> assign_parts(const Store& store, const SplitOptions& options);

// Every normalised text found in more than one of {train, validation, kernels, task, device} restricted to one task;
// empty = clean.
std::vector<std::string> find_leaks(const Store& store, const std::vector<Part>& parts);

}  // namespace kc
