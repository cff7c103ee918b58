#include "forecast/measurement.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hash.h"

namespace kc {

namespace {

constexpr std::array<std::string_view, kMeasurementStatuses> kStatusNames = {"ok", "compile_error", "runtime_error",
                                                                             "incorrect", "timeout"};

double median(std::vector<double> values) {
  const std::size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle] + *std::max_element(values.begin(), values.begin() + middle)) / 2;
}

[[noreturn]] void refuse(const Measurement& measurement, const CaseTiming& timing, const std::string& what) {
  throw Error(ErrorKind::bad_data,
              fmt::format("measurement of '{}' (task {}), case '{}': {}; it has no speedup and must be left out",
                          measurement.kernel_name, measurement.task, timing.name, what));
}

void check_times(const Measurement& measurement, const CaseTiming& timing) {
  if (timing.candidate_ns.empty()) refuse(measurement, timing, "no timed round");
  for (const auto* side : {&timing.candidate_ns, &timing.reference_ns}) {
    for (const float t : *side) {
      if (!std::isfinite(t) || t <= 0) refuse(measurement, timing, fmt::format("a time of {} ns", t));
    }
  }
}

double case_log2(const Measurement& measurement, const CaseTiming& timing, bool with_reference) {
  check_times(measurement, timing);
  std::vector<double> values;
  values.reserve(timing.candidate_ns.size());
  if (with_reference) {
    if (timing.reference_ns.size() != timing.candidate_ns.size()) {
      refuse(measurement, timing,
             fmt::format("{} rounds of the candidate against {} of the reference", timing.candidate_ns.size(),
                         timing.reference_ns.size()));
    }
    for (std::size_t r = 0; r < timing.candidate_ns.size(); ++r) {
      values.push_back(static_cast<double>(timing.reference_ns[r]) / static_cast<double>(timing.candidate_ns[r]));
    }
    return std::log2(median(std::move(values)));
  }
  if (!std::isfinite(timing.work) || timing.work <= 0) {
    refuse(measurement, timing, fmt::format("work of {} units", timing.work));
  }
  values.assign(timing.candidate_ns.begin(), timing.candidate_ns.end());
  return -std::log2(median(std::move(values)) / timing.work);
}

}  // namespace

nlohmann::json to_json(const Provenance& provenance) {
  nlohmann::json fields;
  visit_fields(provenance, [&](const char* name, const auto& field) { fields[name] = field; });
  return fields;
}

std::string_view name_of(MeasurementStatus status) { return kStatusNames[static_cast<std::size_t>(status)]; }

MeasurementStatus measurement_status_of(std::string_view name) {
  const auto it = std::find(kStatusNames.begin(), kStatusNames.end(), name);
  if (it == kStatusNames.end()) {
    throw Error(ErrorKind::bad_data, fmt::format("unknown measurement status '{}': expected one of {}", name,
                                                 fmt::join(kStatusNames, ", ")));
  }
  return static_cast<MeasurementStatus>(it - kStatusNames.begin());
}

std::string kernel_id(const KernelText& kernel) {
  // Each part is preceded by its length, so that no two kernels give the same bytes.
  std::string bytes;
  const auto append = [&bytes](std::string_view part) { bytes += fmt::format("{}:{}", part.size(), part); };
  append(kernel.template_id);
  append(kernel.source);
  for (const auto& [name, value] : kernel.parameters) {
    append(name);
    append(value);
  }
  return sha256_hex(bytes);
}

double log2_speedup_scalar(const Measurement& measurement) {
  if (measurement.cases.empty()) {
    throw Error(ErrorKind::bad_data, fmt::format("measurement of '{}' (task {}) has no timed case",
                                                 measurement.kernel_name, measurement.task));
  }
  const bool with_reference = std::any_of(measurement.cases.begin(), measurement.cases.end(),
                                          [](const CaseTiming& c) { return !c.reference_ns.empty(); });
  double sum = 0;
  for (const CaseTiming& timing : measurement.cases) sum += case_log2(measurement, timing, with_reference);
  return sum / static_cast<double>(measurement.cases.size());
}

}  // namespace kc
