#include "pipeline/forecast_measure.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "measure/host_device.h"
#include "measure/machine.h"

namespace kc {
namespace {

TaskPack load_named_task(const std::filesystem::path& root, const std::string& name) {
  if (name.empty() || !std::filesystem::exists(root / name / "task.yaml")) {
    throw Error(ErrorKind::usage,
                fmt::format("--measure needs --task NAME with a task pack at {}/NAME/task.yaml, found '{}'",
                            root.string(), name));
  }
  return load_task_pack(root / name);
}

MeasureRequest request_of(const TaskPack& task, const std::string& name, const KernelText& kernel) {
  Candidate candidate;
  candidate.name = name;
  candidate.kernel = kernel;
  return {&task, std::move(candidate)};
}

}  // namespace

void measure_candidates(const std::filesystem::path& tasks_root, const ForecastJob& job, ForecastReport& report,
                        std::stop_token stop) {
  const TaskPack task = load_named_task(tasks_root, job.task);
  Config config = Config::defaults();
  const auto measurer = make_host_measurer(read_host_options(config), secret_seed());
  std::vector<MeasureRequest> requests{request_of(task, "reference", job.reference)};
  for (std::size_t i = 0; i < job.candidates.size(); ++i)
    requests.push_back(request_of(task, job.names[i], job.candidates[i]));
  const std::vector<Measurement> measured = measurer->measure(requests, [](std::size_t, const Measurement&) {}, stop);
  if (measured.front().status != MeasurementStatus::ok) {
    throw Error(ErrorKind::check_failed, fmt::format("the reference kernel is no sound {} kernel: {}: {}", task.name,
                                                     name_of(measured.front().status), measured.front().log));
  }
  const double reference_log2 = log2_speedup_scalar(measured.front());
  for (CandidateForecast& entry : report.ranked) {
    const auto at = std::find(job.names.begin(), job.names.end(), entry.name) - job.names.begin();
    const Measurement& measurement = measured[static_cast<std::size_t>(at) + 1];
    entry.measured_status = name_of(measurement.status);
    if (measurement.status == MeasurementStatus::ok) {
      entry.measured_speedup = std::exp2(log2_speedup_scalar(measurement) - reference_log2);
    }
  }
}

}  // namespace kc
