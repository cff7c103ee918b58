#include "pipeline/speedups.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/table.h"
#include "forecast/measurement_interval.h"

namespace kc {

Log2Estimate log2_speedup(const Measurement& measurement) {
  const Log2Interval interval = log2_speedup_interval(measurement);
  return {log2_speedup_scalar(measurement), interval.low, interval.high};
}

std::optional<Log2Estimate> find_speedup(const Measurement& measurement) {
  const auto has_no_reference = [](const CaseTiming& timing) { return timing.reference_ns.empty(); };
  if (measurement.status != MeasurementStatus::ok || std::ranges::any_of(measurement.cases, has_no_reference)) {
    return std::nullopt;
  }
  try {
    const Log2Estimate log2 = log2_speedup(measurement);
    bin_of(std::exp2(log2.value));
    return log2;
  } catch (const Error&) {
    return std::nullopt;  // times of another machine that are none are stored as they came
  }
}

std::string ratio_text(const Log2Estimate& log2) {
  return fmt::format("{:.4g} [{:.4g}, {:.4g}]", std::exp2(log2.value), std::exp2(log2.low), std::exp2(log2.high));
}

void put_ratio(nlohmann::json& json, const std::string& name, const Log2Estimate& log2) {
  const Bin bin = bin_of(std::exp2(log2.value));
  json[name] = std::exp2(log2.value);
  json["low"] = std::exp2(log2.low);
  json["high"] = std::exp2(log2.high);
  json["bin"] = bin;
  json["bin_name"] = std::string(bin_name(bin));
}

void FastestKernels::add(const Measurement& measurement, bool is_seed) {
  if (is_seed) return;
  const auto log2 = find_speedup(measurement);
  if (!log2) return;
  Kernel kernel{measurement.kernel_name, *log2, bin_of(std::exp2(log2->value))};
  std::vector<Kernel>& kernels = tasks_[measurement.task];
  const auto slower = [](const Kernel& a, const Kernel& b) { return a.log2.value > b.log2.value; };
  kernels.insert(std::upper_bound(kernels.begin(), kernels.end(), kernel, slower), std::move(kernel));
  if (kernels.size() > kShown) kernels.pop_back();
}

std::string FastestKernels::table() const {
  Table table({"task", "kernel", "speedup over the seed", "bin", ""});
  bool first = true;
  for (const auto& [task, kernels] : tasks_) {
    if (!std::exchange(first, false)) table.add_rule();
    for (const Kernel& kernel : kernels) {
      table.add_row(
          {task, kernel.name, ratio_text(kernel.log2), std::to_string(kernel.bin), std::string(bin_name(kernel.bin))});
    }
  }
  return table.render();
}

nlohmann::json FastestKernels::json() const {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [task, kernels] : tasks_) {
    for (const Kernel& kernel : kernels) {
      nlohmann::json entry = {{"kernel", kernel.name}};
      put_ratio(entry, "speedup", kernel.log2);
      json[task].push_back(std::move(entry));
    }
  }
  return json;
}

}  // namespace kc
