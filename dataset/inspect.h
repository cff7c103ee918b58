#pragma once
// What a store holds, for `dataset inspect` and checks.
#include <array>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "dataset/label_store.h"
#include "forecast/bins.h"

namespace kc {

struct GroupSummary {  // one task on one device
  std::string task;
  std::string device;
  std::array<std::int64_t, kMeasurementStatuses> by_status{};  // rows, in the order of MeasurementStatus
  std::array<std::int64_t, kBins> pairs_by_bin{};              // ordered pairs of ok kernels
  double noise_cv =
      0;  // median over kernels and cases of deviation / mean of the candidate's rounds; 0 without repeats
};

// Rows made by another compiler, flags or harness version than the last row of their task and device.
struct StaleRows {
  std::string task;
  std::string device;
  std::string compiler;
  std::string compiler_flags;
  std::string harness_version;
  std::int64_t rows = 0;
};

struct RunSummary {
  Provenance provenance;
  std::int64_t rows = 0;
};

struct StoreSummary {
  std::string content_hash;
  std::int64_t measurements = 0;
  std::int64_t kernels = 0;  // distinct kernel texts
  std::int64_t ratios = 0;
  std::map<std::string, std::int64_t> ratios_by_baseline;
  std::vector<GroupSummary> groups;  // by task, then device
  std::vector<RunSummary> runs;      // in the order of their first rows
  std::vector<StaleRows> stale;
};

// Error{bad_data} when an ok row has no speedup.
StoreSummary summarise(const Store& store);

std::vector<StaleRows> find_stale(const Store& store);

nlohmann::json to_json(const StoreSummary& summary);

}  // namespace kc
