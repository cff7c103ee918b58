#pragma once
// Which measurements train, which validate and which test. A kernel's normalised text never stands on two sides; the
// sides are train, validation and test (the parts kernels, task and device together).
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
  unused,      // excluded by data.tasks / data.devices, or a held-out row whose text trains or validates elsewhere
};
std::string name_of(Part part);
Part part_of(const std::string& name);  // Error{usage} when unknown

struct SplitOptions {  // section `data`, keys under `data.split`
  std::uint64_t seed = 1;
  double validation_fraction = 0.1;
  double test_fraction = 0.1;
  std::vector<std::string> held_out_tasks = {};
  std::vector<std::string> held_out_devices = {};
  // true: part `device` holds only rows whose text stands neither in train nor in validation. false: every row of the
  // held-out devices, so that texts are known from other devices; the one leak that a caller may want (a tuning space
  // moved to a new device). find_leaks reports it.
  bool device_new_kernels = true;
  std::vector<std::string> tasks = {};    // only these (empty: all)
  std::vector<std::string> devices = {};  // only these (empty: all)
};
SplitOptions read_split_options(Config& config);

// Part of each measurement of the store, in its order. The draw hashes the normalised kernel text with the seed, so all
// rows of one text go together and adding rows moves no other row between train, validation and kernels. Held-out task,
// then held-out device, win over the kernel's own draw; a row of theirs becomes `unused` when its text trains or
// validates elsewhere. Error{config} names an unknown task or device.
std::vector<Part> assign_parts(const Store& store, const SplitOptions& options);

// One line for every text and every pair of parts on different sides that both hold it; empty = clean. Compares the
// texts themselves, not the hashes that assign_parts drew from. `known_devices` leaves out the leaks into part `device`
// that device_new_kernels = false asks for.
std::vector<std::string> find_leaks(const Store& store, const std::vector<Part>& parts, bool known_devices = false);

}  // namespace kc
