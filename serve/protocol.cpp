#include "serve/protocol.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/printable.h"
#include "serve/fields.h"

namespace kc {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxIdLength = 64;
constexpr std::size_t kMinIdLength = 8;
constexpr int kMaxDepth = 16;

}  // namespace

std::string task_fingerprint(const TaskPack& pack) {
  const std::string yaml = read_file(pack.folder / "task.yaml");
  std::string bytes;
  for (const std::string* part : {&pack.name, &yaml, &pack.reference_source, &pack.seed.source}) {
    bytes += fmt::format("{}:{}", part->size(), *part);
  }
  return sha256_hex(bytes + kernel_id(pack.seed) + fmt::format("{}", fmt::join(pack.devices, ",")));
}

json to_json(const Candidate& candidate) {
  json parameters = json::array();
  for (const auto& [name, value] : candidate.kernel.parameters) parameters.push_back({name, value});
  return {{"name", candidate.name},
          {"language", candidate.kernel.language},
          {"template_id", candidate.kernel.template_id},
          {"source", candidate.kernel.source},
          {"parameters", parameters},
          {"prologue", candidate.kernel.prologue},
          {"is_seed", candidate.is_seed}};
}

Candidate candidate_of(const json& from) {
  Candidate candidate;
  candidate.name = field<std::string>(from, "name");
  candidate.kernel.language = field<std::string>(from, "language");
  candidate.kernel.template_id = field<std::string>(from, "template_id");
  candidate.kernel.source = field<std::string>(from, "source");
  candidate.kernel.parameters = field<Parameters>(from, "parameters");
  candidate.kernel.prologue = field<std::string>(from, "prologue", "");
  candidate.is_seed = field<bool>(from, "is_seed", false);
  return candidate;
}

Provenance provenance_of(const json& from) {
  Provenance provenance;
  visit_fields(provenance,
               [&](const char* name, auto& value) { value = field<std::decay_t<decltype(value)>>(from, name); });
  return provenance;
}

json to_json(const Measurement& m) {
  json cases = json::array();
  for (const CaseTiming& timing : m.cases) {
    cases.push_back({{"name", timing.name},
                     {"work", timing.work},
                     {"candidate_ns", timing.candidate_ns},
                     {"reference_ns", timing.reference_ns}});
  }
  return {{"task", m.task},
          {"kernel_name", m.kernel_name},
          {"status", std::string(name_of(m.status))},
          {"log", m.log},
          {"cases", cases},
          {"provenance", to_json(m.provenance)},
          {"is_seed", m.is_seed},
          {"facts", m.facts}};
}

Measurement measurement_of(const json& from) {
  Measurement m;
  m.task = field<std::string>(from, "task");
  m.kernel_name = field<std::string>(from, "kernel_name");
  m.status = measurement_status_of(field<std::string>(from, "status"));
  m.log = field<std::string>(from, "log");
  for (const json& item : list_field(from, "cases")) {
    m.cases.push_back({field<std::string>(item, "name"), field<double>(item, "work"),
                       field<std::vector<float>>(item, "candidate_ns"),
                       field<std::vector<float>>(item, "reference_ns")});
  }
  m.provenance = provenance_of(field<json>(from, "provenance"));
  m.is_seed = field<bool>(from, "is_seed");
  m.facts = field<Facts>(from, "facts");
  return m;
}

std::string to_text(const Candidate& candidate, const std::string& task) {
  try {
    return to_json(candidate).dump();
  } catch (const json::exception&) {
    throw Error(
        ErrorKind::bad_data,
        fmt::format("task '{}': candidate '{}' is not UTF-8 text (source, name or a parameter), which is all that "
                    "a remote device takes: convert the file, or measure it on a device of this machine",
                    task, printable(candidate.name)));
  }
}

std::string to_text(const JobText& job) {
  std::string candidates;
  for (const Candidate& candidate : job.candidates) {
    candidates += (candidates.empty() ? "" : ",") + to_text(candidate, job.task);
  }
  std::string text =
      json{{"id", job.id}, {"task", job.task}, {"fingerprint", job.fingerprint}, {"fresh", job.fresh}}.dump();
  text.pop_back();
  return text + ",\"candidates\":[" + candidates + "]}";
}

json parse_object(const std::string& text) {
  if (text.empty()) throw Error(ErrorKind::bad_data, "a message is empty");
  // Copying and writing a value recurses, so what is nested without end must not become one.
  const auto shallow = [](int depth, json::parse_event_t, json&) {
    if (depth > kMaxDepth) throw Error(ErrorKind::bad_data, "a message is nested too deeply");
    return true;
  };
  try {
    json value = json::parse(text, shallow);
    if (value.is_object()) return value;
  } catch (const json::exception& fault) {
    throw message_fault(words_of(fault));
  }
  throw Error(ErrorKind::bad_data, "a message is not a JSON object");
}

JobText job_of(const std::string& text) {
  const json whole = parse_object(text);
  JobText job{field<std::string>(whole, "id"),
              field<std::string>(whole, "task"),
              field<std::string>(whole, "fingerprint"),
              {},
              field<bool>(whole, "fresh", false)};
  const bool plain =
      std::all_of(job.id.begin(), job.id.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; });
  if (!plain || job.id.size() < kMinIdLength || job.id.size() > kMaxIdLength) {
    throw Error(ErrorKind::bad_data,
                fmt::format("a job's id has {} to {} letters, digits and dashes", kMinIdLength, kMaxIdLength));
  }
  const json candidates = list_field(whole, "candidates");
  if (candidates.empty()) throw Error(ErrorKind::bad_data, "a job needs a list of candidates");
  for (const json& item : candidates) {
    try {
      job.candidates.push_back(candidate_of(item));
    } catch (const Error& fault) {
      throw Error(fault.kind(), fmt::format("candidate {} of the job: {}", job.candidates.size() + 1, fault.what()));
    }
  }
  return job;
}

}  // namespace kc
