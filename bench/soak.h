#pragma once
// Thousands of candidates through the host device: what stays behind?
#include <cstdint>
#include <string>
#include <vector>

#include "forecast/measurement.h"

namespace kc {

struct SoakOptions {
  std::size_t candidates = 2000;
  double hostile_share = 0.1;
  std::uint64_t seed = 1;
};

// Of this process and its children at one moment.
struct Footprint {
  std::size_t processes = 0;  // descendants, orphans among them included
  std::size_t files = 0;      // below the temporary folder, in /dev/shm and in control groups of ours
  std::size_t descriptors = 0;
  double resident_mb = 0;
};

struct SoakReport {
  std::size_t by_status[kMeasurementStatuses] = {};
  std::size_t honest_failures = 0;  // honest candidates that are not ok
  std::size_t hostile_ok = 0;       // hostile candidates that are ok
  std::vector<std::string> surprises;
  Footprint before, warm, after;  // warm: after the first tenth; after: when the device is gone
  double seconds = 0;
};

// Uses a temporary folder of its own as TMPDIR. Shows progress.
SoakReport run_soak(const SoakOptions& options);

// What must not have grown, in words; empty when all is well. Memory may grow by 16 MB between `warm` and `after`.
std::vector<std::string> faults_of(const SoakReport& report);
std::string soak_text(const SoakReport& report);

}  // namespace kc
