#include "measure/fake_device.h"

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>

#include "base/interrupt.h"
#include "base/rng.h"
#include "measure/machine.h"

namespace kc {
namespace {

constexpr float kReferenceNs = 1000;

class FakeMeasurer : public Measurer {
 public:
  explicit FakeMeasurer(const FakeOptions& options) : options_(options) {
    provenance_.run_id = random_run_id();
    provenance_.device = options.device;
    provenance_.processor = "none";
    provenance_.compiler = "none";
    provenance_.harness_version = options.harness_version;
    provenance_.started_at = utc_now();
  }

  std::vector<Measurement> measure(std::span<const MeasureRequest> requests, const OnResult& on_result,
                                   std::stop_token stop) override {
    std::vector<Measurement> results;
    for (const MeasureRequest& request : requests) {
      wait(stop);
      throw_if_stopped(stop);
      Measurement result = options_.script ? options_.script(request) : invented(request);
      identify(result, request, provenance_);
      results.push_back(std::move(result));
      if (on_result) on_result(results.size() - 1, results.back());
    }
    return results;
  }

  Provenance provenance(const TaskPack&) const override { return provenance_; }

 private:
  void wait(const std::stop_token& stop) const {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait_for(lock, stop, std::chrono::duration<double>(options_.seconds_per_candidate), [] { return false; });
  }

  Measurement invented(const MeasureRequest& request) const {
    Measurement result;
    if (!request.candidate.expect.empty()) result.status = measurement_status_of(request.candidate.expect);
    if (result.status != MeasurementStatus::ok) {
      result.log = "declared by the task";
      return result;
    }
    const std::string id = kernel_id(request.candidate.kernel);
    const double log2 =
        request.candidate.is_seed ? 0 : 6 * RngStream(std::uint64_t{0}).child("fake").child(id).uniform() - 3;
    for (const CaseSpec& spec : request.task->cases) {
      CaseTiming timing{spec.name, work_of(*request.task, spec), {}, {}};
      timing.reference_ns.assign(options_.rounds, kReferenceNs);
      timing.candidate_ns.assign(options_.rounds, kReferenceNs / static_cast<float>(std::exp2(log2)));
      result.cases.push_back(std::move(timing));
    }
    return result;
  }

  FakeOptions options_;
  Provenance provenance_;
};

}  // namespace

std::unique_ptr<Measurer> make_fake_measurer(const FakeOptions& options) {
  return std::make_unique<FakeMeasurer>(options);
}

}  // namespace kc
