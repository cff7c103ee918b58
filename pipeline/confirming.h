#pragma once
// The fastest kernels of a store, measured once more: what `measure label --confirm` does.
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "measure/measurer.h"
#include "pipeline/speedups.h"

namespace kc {

struct ConfirmedKernel {
  std::string task;
  std::string name;
  Log2Estimate first;     // what made it one of the fastest
  std::string status;     // of the second time; the estimate is there where it is "ok"
  Log2Estimate again;     // not biased by the choice
  bool is_lucky = false;  // the second lies below the first one's interval
};

// The `count` fastest kernels of each task among the labels that this device and harness have in `store`, measured
// again in new sessions, so on inputs that they have not seen; by task, then by the second label, best first. The store
// stays as it is. Error{usage} when the device answers with the very label that was to be confirmed, as a recording
// does. Shows progress; throws as Measurer::measure.
std::vector<ConfirmedKernel> confirm_fastest(const std::vector<TaskPack>& tasks, Measurer& measurer,
                                             const std::filesystem::path& store, std::size_t count,
                                             const std::stop_token& stop);

std::string confirmed_table(const std::vector<ConfirmedKernel>& kernels);
nlohmann::json to_json(const std::vector<ConfirmedKernel>& kernels);

}  // namespace kc
