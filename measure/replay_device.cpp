#include "measure/replay_device.h"

#include <fmt/format.h>

#include <set>
#include <unordered_map>

#include "base/error.h"
#include "base/interrupt.h"
#include "measure/task_revision.h"

namespace kc {
namespace {

std::string key_of(const std::string& task, const KernelText& kernel) { return task + '\0' + kernel_id(kernel); }

class ReplayMeasurer : public Measurer {
 public:
  ReplayMeasurer(std::vector<Measurement> recorded, std::string name, const std::string& device)
      : recorded_(std::move(recorded)), name_(std::move(name)) {
    std::set<std::string> devices;
    for (std::size_t i = 0; i < recorded_.size(); ++i) {
      const Measurement& row = recorded_[i];
      if (!device.empty() && row.provenance.device != device) continue;
      devices.insert(row.provenance.device);
      rows_[key_of(row.task, row.kernel)].push_back(i);
      last_of_task_[row.task] = i;
    }
    if (devices.empty()) {
      throw Error(ErrorKind::bad_data, fmt::format("{} holds no measurement{}", name_,
                                                   device.empty() ? "" : " of the device '" + device + "'"));
    }
    if (devices.size() > 1) {
      throw Error(ErrorKind::usage,
                  fmt::format("{} holds several devices: name one of them, as in replay:{}#DEVICE; it "
                              "has {}",
                              name_, name_, fmt::join(devices, ", ")));
    }
  }

  std::vector<Measurement> measure(std::span<const MeasureRequest> requests, const OnResult& on_result,
                                   std::stop_token stop) override {
    for (const MeasureRequest& request : requests) row_of(request);
    std::vector<Measurement> results;
    for (const MeasureRequest& request : requests) {
      throw_if_stopped(stop);
      results.push_back(recorded_[row_of(request)]);
      results.back().kernel_name = request.candidate.name;
      if (on_result) on_result(results.size() - 1, results.back());
    }
    return results;
  }

  std::string kind() const override {
    return recorded_[rows_.begin()->second.front()].kernel.language == "cuda" ? "cuda" : "host";
  }

  Provenance provenance(const TaskPack& task) const override {
    const auto found = last_of_task_.find(task.name);
    if (found == last_of_task_.end()) {
      throw Error(ErrorKind::bad_data, fmt::format("{} holds no measurement of the task {}", name_, task.name));
    }
    return recorded_[found->second].provenance;
  }

 private:
  // The last one of the task as it is; those that do not say of which state they are count as such.
  std::size_t row_of(const MeasureRequest& request) const {
    const auto found = rows_.find(key_of(request.task->name, request.candidate.kernel));
    if (found == rows_.end()) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("{} holds no measurement of {} (task {}): a replay answers only what was recorded", name_,
                              request.candidate.name, request.task->name));
    }
    const double own = task_revision(*request.task);
    for (std::size_t i = found->second.size(); i-- > 0;) {
      const auto recorded = task_revision(recorded_[found->second[i]]);
      if (!recorded || *recorded == own) return found->second[i];
    }
    throw Error(
        ErrorKind::bad_data,
        fmt::format("{} holds measurements of {} for another state of the task {} only (its seed, cases, inputs, "
                    "reference or tolerance were others): record it anew, or take the task pack of then",
                    name_, request.candidate.name, request.task->name));
  }

  std::vector<Measurement> recorded_;
  std::string name_;
  std::unordered_map<std::string, std::vector<std::size_t>> rows_;  // in the order of recording
  std::unordered_map<std::string, std::size_t> last_of_task_;
};

}  // namespace

std::unique_ptr<Measurer> make_replay_measurer(std::vector<Measurement> recorded, const std::string& name,
                                               const std::string& device) {
  return std::make_unique<ReplayMeasurer>(std::move(recorded), name, device);
}

}  // namespace kc
