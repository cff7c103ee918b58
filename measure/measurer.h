#pragma once
// The interface to a device that measures kernels. Caching, budgets and replay decorate it.
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "forecast/measurement.h"
#include "measure/task_pack.h"

namespace kc {

struct MeasureRequest {
  const TaskPack* task = nullptr;  // must outlive the call
  Candidate candidate;
};

class Measurer {
 public:
  virtual ~Measurer() = default;
  // One result per request, in order; every failure of a candidate is its result's status. `on_result(index,
  // measurement)` is called as each arrives, from the calling thread. Blocks; throws Error{interrupted} when stopped
  // and Error{environment} when the harness itself cannot work (no compiler, full disk). Not thread-safe: timing is
  // exclusive per device.
  virtual std::vector<Measurement> measure(std::span<const MeasureRequest> requests,
                                           const std::function<void(std::size_t, const Measurement&)>& on_result,
                                           std::stop_token stop) = 0;
  virtual Provenance provenance(const TaskPack& task) const = 0;
};

}  // namespace kc
