#include "pipeline/labelling.h"

#include <chrono>

#include <fmt/format.h>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/rng.h"
#include "cuda/baseline.h"
#include "measure/budget.h"
#include "measure/task_revision.h"

namespace kc {
namespace {

constexpr std::size_t kChunk = 64;  // candidates handed to the measurer at once

std::vector<Candidate> draw_candidates(const TaskPack& task, const LabelOptions& options) {
  std::vector<Candidate> candidates = list_candidates(task);
  if (options.limit_per_task <= 0 || candidates.size() <= static_cast<std::size_t>(options.limit_per_task))
    return candidates;
  // The seed stays first; the others are a draw.
  RngStream rng = RngStream(options.seed).child("label").child(task.name);
  std::vector<Candidate> others(candidates.begin() + 1, candidates.end());
  rng.shuffle(others);
  others.resize(static_cast<std::size_t>(options.limit_per_task) - 1);
  others.insert(others.begin(), candidates.front());
  return others;
}

// Baselines stay, whatever the limit: they are what the others are compared with.
std::vector<Candidate> choose_candidates(const TaskPack& task, const LabelOptions& options) {
  std::vector<Candidate> candidates = draw_candidates(task, options);
  for (Candidate& baseline : baseline_candidates(task)) candidates.push_back(std::move(baseline));
  return candidates;
}

Measurement key_of(const TaskPack& task, const Candidate& candidate, const Measurer& measurer) {
  Measurement key;
  key.task = task.name;
  key.kernel = candidate.kernel;
  key.provenance = measurer.provenance(task);
  key.facts[kTaskRevision] = task_revision(task);
  return key;
}

std::vector<MeasureRequest> missing_requests(const std::vector<TaskPack>& tasks, const Measurer& measurer,
                                             const LabelWriter& writer, const LabelOptions& options,
                                             LabelReport& report) {
  std::vector<MeasureRequest> requests;
  for (const TaskPack& task : tasks) {
    for (Candidate& candidate : choose_candidates(task, options)) {
      if (!options.measure_again && writer.contains(key_of(task, candidate, measurer))) {
        ++report.already_stored;
      } else {
        requests.push_back({&task, std::move(candidate), options.measure_again});
      }
    }
  }
  return requests;
}

std::string failures_note(const LabelReport& report) {
  std::string note;
  for (int status = 0; status < kMeasurementStatuses; ++status) {
    const std::int64_t count = report.by_status[static_cast<std::size_t>(status)];
    if (count > 0)
      note += fmt::format("{}{} {}", note.empty() ? "" : ", ", count, name_of(static_cast<MeasurementStatus>(status)));
  }
  return note;
}

void count(LabelReport& report, const Candidate& candidate, const Measurement& measurement) {
  ++report.measured;
  ++report.by_status[static_cast<std::size_t>(measurement.status)];
  report.fastest.add(measurement, candidate.is_seed);
  const std::string expected = candidate.expect.empty() ? "ok" : candidate.expect;
  if (name_of(measurement.status) != expected) {
    report.unexpected.push_back(fmt::format("{}: {}: expected {}, found {}: {}", measurement.task, candidate.name,
                                            expected, name_of(measurement.status), measurement.log.substr(0, 200)));
  }
}

}  // namespace

LabelReport label_tasks(const std::vector<TaskPack>& tasks, Measurer& measurer, const std::filesystem::path& out,
                        const LabelOptions& options, std::stop_token stop) {
  const auto start = std::chrono::steady_clock::now();
  LabelReport report;
  LabelWriter writer(out);
  const std::vector<MeasureRequest> requests = missing_requests(tasks, measurer, writer, options, report);
  std::string& ended = report.ended_early;
  Progress progress("measuring", static_cast<std::int64_t>(requests.size()), "candidates");
  for (std::size_t begin = 0; begin < requests.size() && !stop.stop_requested() && ended.empty(); begin += kChunk) {
    const auto chunk = std::span(requests).subspan(begin, std::min(kChunk, requests.size() - begin));
    try {
      measurer.measure(
          chunk,
          [&](std::size_t i, const Measurement& measurement) {
            writer.append(measurement);
            count(report, chunk[i].candidate, measurement);
            progress.advance(1, failures_note(report));
          },
          stop);
    } catch (const BudgetSpent& spent) {
      ended = spent.what();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::interrupted) throw;
      break;
    }
  }
  progress.finish();
  writer.compact();
  throw_if_stopped(stop);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace kc
