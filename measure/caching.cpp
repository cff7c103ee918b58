#include "measure/caching.h"

#include <deque>
#include <unordered_map>

#include <fmt/format.h>

#include "measure/task_revision.h"

namespace kc {
namespace {

std::string key_of(const std::string& task, double revision, const KernelText& kernel, const Provenance& p) {
  std::string key = fmt::format("{} ", revision);
  for (const std::string* part :
       {&task, &kernel.language, &kernel.prologue, &p.device, &p.compiler, &p.compiler_flags, &p.harness_version}) {
    key += *part;
    key += '\0';
  }
  return key + kernel_id(kernel);
}

class CachingMeasurer : public Measurer {
 public:
  CachingMeasurer(std::unique_ptr<Measurer> inner, const std::vector<Measurement>& known, std::size_t capacity)
      : inner_(std::move(inner)), capacity_(capacity) {
    for (const Measurement& m : known) {
      if (const auto revision = task_revision(m)) keep(key_of(m.task, *revision, m.kernel, m.provenance), m);
    }
  }

  std::vector<Measurement> measure(std::span<const MeasureRequest> requests, const OnResult& on_result,
                                   std::stop_token stop) override {
    std::vector<Measurement> results(requests.size());
    std::vector<std::size_t> missing;
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      keys.push_back(key_of_request(requests[i]));
      if (requests[i].fresh || !answer(keys[i], requests[i], results[i])) {
        missing.push_back(i);
      } else if (on_result) {
        on_result(i, results[i]);
      }
    }
    std::vector<MeasureRequest> asked;
    for (const std::size_t i : missing) asked.push_back(requests[i]);
    if (asked.empty()) return results;
    inner_->measure(
        asked,
        [&](std::size_t at, const Measurement& measurement) {
          const std::size_t i = missing[at];
          results[i] = measurement;
          keep(keys[i], measurement);
          if (on_result) on_result(i, measurement);
        },
        std::move(stop));
    return results;
  }

  std::string kind() const override { return inner_->kind(); }

  Provenance provenance(const TaskPack& task) const override { return inner_->provenance(task); }

 private:
  std::string key_of_request(const MeasureRequest& request) const {
    return key_of(request.task->name, task_revision(*request.task), request.candidate.kernel,
                  inner_->provenance(*request.task));
  }

  bool answer(const std::string& key, const MeasureRequest& request, Measurement& result) const {
    const auto found = results_.find(key);
    if (found == results_.end()) return false;
    result = found->second;
    result.kernel_name = request.candidate.name;
    result.is_seed = request.candidate.is_seed;
    return true;
  }

  void keep(const std::string& key, const Measurement& measurement) {
    if (measurement.status == MeasurementStatus::timeout || capacity_ == 0) return;
    if (!results_.insert_or_assign(key, measurement).second) return;
    order_.push_back(key);
    if (order_.size() <= capacity_) return;
    results_.erase(order_.front());
    order_.pop_front();
  }

  std::unique_ptr<Measurer> inner_;
  std::size_t capacity_;
  std::unordered_map<std::string, Measurement> results_;
  std::deque<std::string> order_;  // oldest first
};

}  // namespace

std::unique_ptr<Measurer> make_caching_measurer(std::unique_ptr<Measurer> inner, const std::vector<Measurement>& known,
                                                std::size_t capacity) {
  return std::make_unique<CachingMeasurer>(std::move(inner), known, capacity);
}

}  // namespace kc
