#pragma once
// The interface to a device that measures kernels. Caching, budgets and replay decorate it.
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "forecast/measurement.h"
#include "measure/task_pack.h"

namespace kc {

struct MeasureRequest {
  const TaskPack* task = nullptr;  // must outlive the last call: devices know it by its address
  Candidate candidate;
  bool fresh = false;  // measured even where a cache, here or on a server, has an answer; recordings answer as before
};

// Says in a result of a device what was measured, of which state of the task, and where.
void identify(Measurement& result, const MeasureRequest& request, Provenance provenance);

// Called as each result arrives, from the thread that called measure().
using OnResult = std::function<void(std::size_t index, const Measurement& measurement)>;

class Measurer {
 public:
  virtual ~Measurer() = default;
  // One result per request, in order; every failure of a candidate is its result's status. Blocks; throws
  // Error{interrupted} when stopped and Error{environment} when the harness itself cannot work (no compiler, full
  // disk). Not thread-safe: timing is exclusive per device.
  virtual std::vector<Measurement> measure(std::span<const MeasureRequest> requests, const OnResult& on_result,
                                           std::stop_token stop) = 0;
  // Of the devices that task packs name: "host" or "cuda".
  virtual std::string kind() const { return "host"; }
  // What a measurement of `task` will carry.
  virtual Provenance provenance(const TaskPack& task) const = 0;
};

}  // namespace kc
