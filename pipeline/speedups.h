#pragma once
// How a speedup is shown: with its interval and its bin.
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "forecast/bins.h"
#include "forecast/measurement.h"

namespace kc {

// A log2 ratio with its 95 % interval (forecast/measurement_interval.h).
struct Log2Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

// Of the kernel against what was timed beside it. Error{bad_data} as log2_speedup_scalar.
Log2Estimate log2_speedup(const Measurement& measurement);

// Nothing for what is not ok, was timed beside nothing, or has times that are none.
std::optional<Log2Estimate> find_speedup(const Measurement& measurement);

// "2.04 [1.98, 2.11]".
std::string ratio_text(const Log2Estimate& log2);
// Sets `name`, low, high, bin and bin_name.
void put_ratio(nlohmann::json& json, const std::string& name, const Log2Estimate& log2);

// The fastest kernels of each task, by their speedup over the seed.
class FastestKernels {
 public:
  static constexpr std::size_t kShown = 10;

  // Passes over the seed, what is not ok, what was timed beside nothing, and times that are none.
  void add(const Measurement& measurement, bool is_seed);
  bool empty() const { return tasks_.empty(); }
  std::string table() const;
  // By task, the fastest first.
  nlohmann::json json() const;

 private:
  struct Kernel {
    std::string name;
    Log2Estimate log2;
    Bin bin;
  };
  std::map<std::string, std::vector<Kernel>> tasks_;  // kShown at most, the fastest first
};

}  // namespace kc
