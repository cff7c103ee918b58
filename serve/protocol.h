#pragma once
// What goes over the wire between `measure serve` and its clients: JSON over HTTP (docs/measurement.md, "Other
// machines"). A client names a task and proves by a fingerprint that both sides mean the same one; references and
// flags, which are trusted, never travel.
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "forecast/measurement.h"
#include "measure/task_pack.h"

namespace kc {

inline constexpr int kServeProtocol = 2;                            // both sides must speak the same one
inline constexpr std::size_t kMaxJobBytes = std::size_t{16} << 20;  // of a job's text

// SHA-256 over what a candidate is judged by: task.yaml, reference and seed.
std::string task_fingerprint(const TaskPack& pack);

nlohmann::json to_json(const Candidate& candidate);
nlohmann::json to_json(const Measurement& measurement);  // without the kernel, which the client knows

// Error{bad_data} says which field is missing or ill-typed.
Candidate candidate_of(const nlohmann::json& json);
Measurement measurement_of(const nlohmann::json& json);
Provenance provenance_of(const nlohmann::json& json);

struct JobText {
  std::string id;  // the client's choice, 8 to 64 letters, digits and dashes: a repeated id is the same job
  std::string task;
  std::string fingerprint;
  std::vector<Candidate> candidates;
  bool fresh = false;  // MeasureRequest::fresh of them all
};
// Error{bad_data} names a candidate that is not UTF-8, and its task.
std::string to_text(const JobText& job);
std::string to_text(const Candidate& candidate, const std::string& task);
JobText job_of(const std::string& text);

// A JSON object; Error{bad_data}.
nlohmann::json parse_object(const std::string& text);

}  // namespace kc
