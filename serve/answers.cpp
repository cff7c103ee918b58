#include "serve/answers.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "measure/compile.h"
#include "measure/task_revision.h"
#include "serve/fields.h"
#include "serve/protocol.h"

namespace kc {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestReason = 2000, kLongestName = 500;
constexpr std::size_t kLongestLog = 4 * kLogExcerpt;  // devices keep kLogExcerpt
constexpr double kLongestNs = 1e15;                   // eleven days

std::size_t count_field(const json& from, const char* key) {
  const json number = field<json>(from, key);
  if (number.is_number_unsigned()) return number.get<std::size_t>();
  throw message_fault(fmt::format("'{}' is no whole number from 0", key));
}

Provenance clean(Provenance provenance) {
  visit_fields(provenance, [](const char*, auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
      value = text_of_server(value, kLongestLog);
    }
  });
  return provenance;
}

Measurement clean(Measurement measurement) {
  measurement.log = text_of_server(measurement.log, kLongestLog);
  measurement.provenance = clean(std::move(measurement.provenance));
  for (CaseTiming& timing : measurement.cases) timing.name = text_of_server(timing.name, kLongestName);
  Facts facts;
  for (const auto& [name, value] : measurement.facts) facts[text_of_server(name, kLongestName)] = value;
  measurement.facts = std::move(facts);
  return measurement;
}

// Whatever else went wrong there, here it is the device that does not work.
ErrorKind kind_of(int number) {
  return number == static_cast<int>(ErrorKind::bad_data) ? ErrorKind::bad_data : ErrorKind::environment;
}

Error failure_of(const json& body) {
  const json failure = field<json>(body, "failure", json::object());
  const std::string message = text_of_server(field<std::string>(failure, "message", ""), kLongestReason);
  return Error(kind_of(field<int>(failure, "kind", -1)),
               message.empty() ? "the job failed there, without a reason: look at the server's log" : message);
}

JobProgress progress_of(const std::string& state) {
  if (state == "queued" || state == "running") return JobProgress::unfinished;
  if (state == "done") return JobProgress::done;
  if (state == "failed") return JobProgress::failed;
  if (state == "cancelled") return JobProgress::cancelled;
  throw message_fault(fmt::format("'state' is '{}', which no job has", text_of_server(state, kLongestName)));
}

bool are_times(const std::vector<float>& times) {
  return std::all_of(times.begin(), times.end(), [](float ns) { return ns > 0 && ns <= kLongestNs; });
}

std::string fault_of_case(const CaseTiming& timing) {
  if (timing.candidate_ns.empty()) return "has no rounds";
  // Imported labels have no reference side.
  if (!timing.reference_ns.empty() && timing.reference_ns.size() != timing.candidate_ns.size()) {
    return fmt::format("has {} rounds of the candidate and {} of the reference", timing.candidate_ns.size(),
                       timing.reference_ns.size());
  }
  if (!are_times(timing.candidate_ns) || !are_times(timing.reference_ns)) {
    return fmt::format("has a time that is not above 0 and at most {:g} ns", kLongestNs);
  }
  if (!std::isfinite(timing.work) || timing.work <= 0) return "has work that is not finite and above 0";
  return "";
}

bool has_cases_of(const Measurement& result, const TaskPack& task) {
  return std::ranges::equal(result.cases, task.cases, {}, &CaseTiming::name, &CaseSpec::name);
}

}  // namespace

std::string text_of_server(const std::string& text, std::size_t longest) {
  const std::string shown = printable(text.substr(0, longest), "\n\t");
  return text.size() <= longest ? shown : shown + fmt::format("\n[cut: it has {} bytes]", text.size());
}

std::string reason_of(const std::string& body) {
  return text_of_server(field<std::string>(parse_object(body), "error"), kLongestReason);
}

ServerStatus status_of(const std::string& body) {
  const json status = parse_object(body);
  const json protocol = field<json>(status, "protocol", 0);
  if (!protocol.is_number_integer()) throw message_fault("'protocol' is no whole number");
  ServerStatus read{protocol.get<int>(), ""};
  if (read.protocol != kServeProtocol) return read;
  read.kind = field<std::string>(status, "kind");
  if (read.kind == "host" || read.kind == "cuda") return read;
  throw message_fault(fmt::format("'kind' is '{}', not host or cuda", text_of_server(read.kind, kLongestName)));
}

TaskAnswer task_answer_of(const std::string& body) {
  const json task = parse_object(body);
  return {field<std::string>(task, "fingerprint"), clean(provenance_of(field<json>(task, "provenance")))};
}

JobAnswer job_answer_of(const std::string& body) {
  const json job = parse_object(body);
  JobAnswer answer{progress_of(field<std::string>(job, "state")), {}, std::nullopt};
  if (answer.progress == JobProgress::failed) answer.failure = failure_of(job);
  if (!job.contains("results")) return answer;
  for (const json& item : list_field(job, "results")) {
    answer.results.emplace_back(count_field(item, "index"), clean(measurement_of(field<json>(item, "measurement"))));
  }
  return answer;
}

std::string fault_of_result(const Measurement& result, const MeasureRequest& request, const Provenance* announced) {
  if (result.task != request.task->name) {
    return fmt::format("is of the task '{}'", text_of_server(result.task, kLongestName));
  }
  if (result.status == MeasurementStatus::ok && result.cases.empty()) return "is ok without a case that was timed";
  if (result.status == MeasurementStatus::ok && !has_cases_of(result, *request.task)) {
    return "is not of the cases of the task";
  }
  const double revision = task_revision(*request.task);
  if (task_revision(result).value_or(revision) != revision) {
    return "is of another state of the task";
  }
  for (const CaseTiming& timing : result.cases) {
    const std::string fault = fault_of_case(timing);
    if (!fault.empty()) return fmt::format("{}: case '{}'", fault, timing.name);
  }
  if (announced == nullptr) return "";
  std::string fault;
  const auto compare = [&](const char* name, const std::string& found, const std::string& expected) {
    if (found == expected || !fault.empty()) return;
    fault = fmt::format("is of the {} '{}', and the server announced '{}'", name, found, expected);
  };
  compare("device", result.provenance.device, announced->device);
  compare("compiler", result.provenance.compiler, announced->compiler);
  compare("harness", result.provenance.harness_version, announced->harness_version);
  return fault;
}

}  // namespace kc
