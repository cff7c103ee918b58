#pragma once
// Which of two kernels of a task is faster, and is the difference real?
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "forecast/bins.h"
#include "forecast/measurement.h"
#include "measure/measurer.h"
#include "pipeline/speedups.h"

namespace kc {

struct ComparedKernel {
  std::string name;
  MeasurementStatus status = MeasurementStatus::ok;
  std::string log;
  Facts facts;
  double median_us = 0;  // of a launch, mean over cases; 0 when not ok
};

struct KernelComparison {
  ComparedKernel a, b;
  bool ok = false;              // both compiled, correct and timed; the rest is void otherwise
  Log2Estimate log2_ratio;      // time of a over time of b: above 0 means that b is faster; as in another session
  Log2Estimate log2_here;       // the same as in this session again; log2_ratio where the device does not tell it
  bool within_session = false;  // whether it tells it
  Bin bin = 0;                  // of b as a candidate and a as its reference
  bool real = false;            // log2_here excludes equality, and the ratio is outside the noise floor
  double noise_floor = 0;       // median |log2| of the run's A/A pairs
  bool direct = false;          // b was timed beside a; else both were timed beside the task's seed
};

// Compiles, checks and times both. On a device that takes the pack as it is given (host, fake) b is timed beside a in
// the same rounds; on others both beside the seed, and the interval is wider. `pack` as the device sees it.
KernelComparison compare_kernels(const TaskPack& pack, const Candidate& a, const Candidate& b, Measurer& measurer,
                                 bool direct, const std::stop_token& stop);

std::string comparison_text(const KernelComparison& comparison);
nlohmann::json to_json(const KernelComparison& comparison);

}  // namespace kc
