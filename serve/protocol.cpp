#include "serve/protocol.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"

namespace kc {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxIdLength = 64;
constexpr std::size_t kMinIdLength = 8;
constexpr int kMaxDepth = 16;

// Turns the library's complaints about types and missing keys into ours.
template <class F>
auto checked(const F& read) {
  try {
    return read();
  } catch (const json::exception& fault) {
    throw Error(ErrorKind::bad_data, fmt::format("a message is not as the protocol says: {}", fault.what()));
  }
}

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
  return checked([&] {
    Candidate candidate;
    candidate.name = from.at("name").get<std::string>();
    candidate.kernel.language = from.at("language").get<std::string>();
    candidate.kernel.template_id = from.at("template_id").get<std::string>();
    candidate.kernel.source = from.at("source").get<std::string>();
    candidate.kernel.parameters = from.at("parameters").get<Parameters>();
    candidate.kernel.prologue = from.value("prologue", "");
    candidate.is_seed = from.value("is_seed", false);
    return candidate;
  });
}

Provenance provenance_of(const json& from) {
  return checked([&] {
    Provenance provenance;
    visit_fields(provenance, [&](const char* name, auto& field) { from.at(name).get_to(field); });
    return provenance;
  });
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
  return checked([&] {
    Measurement m;
    m.task = from.at("task").get<std::string>();
    m.kernel_name = from.at("kernel_name").get<std::string>();
    m.status = measurement_status_of(from.at("status").get<std::string>());
    m.log = from.at("log").get<std::string>();
    for (const json& item : from.at("cases")) {
      m.cases.push_back({item.at("name").get<std::string>(), item.at("work").get<double>(),
                         item.at("candidate_ns").get<std::vector<float>>(),
                         item.at("reference_ns").get<std::vector<float>>()});
    }
    m.provenance = provenance_of(from.at("provenance"));
    m.is_seed = from.at("is_seed").get<bool>();
    m.facts = from.at("facts").get<Facts>();
    return m;
  });
}

std::string to_text(const JobText& job) {
  json candidates = json::array();
  for (const Candidate& candidate : job.candidates) candidates.push_back(to_json(candidate));
  const json whole = {{"id", job.id},
                      {"task", job.task},
                      {"fingerprint", job.fingerprint},
                      {"candidates", std::move(candidates)},
                      {"fresh", job.fresh}};
  try {
    return whole.dump();
  } catch (const json::exception&) {
    throw Error(ErrorKind::bad_data, "a candidate's source is not UTF-8 text, which is all that a remote device takes");
  }
}

json parse_object(const std::string& text) {
  // Copying and writing a value recurses, so what is nested without end must not become one.
  const auto shallow = [](int depth, json::parse_event_t, json&) {
    if (depth > kMaxDepth) throw Error(ErrorKind::bad_data, "a message is nested too deeply");
    return true;
  };
  json value = checked([&] { return json::parse(text, shallow); });
  if (!value.is_object()) throw Error(ErrorKind::bad_data, "a message is not a JSON object");
  return value;
}

JobText job_of(const std::string& text) {
  const json whole = parse_object(text);
  JobText job = checked([&] {
    return JobText{whole.at("id").get<std::string>(),
                   whole.at("task").get<std::string>(),
                   whole.at("fingerprint").get<std::string>(),
                   {},
                   whole.value("fresh", false)};
  });
  const bool plain =
      std::all_of(job.id.begin(), job.id.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; });
  if (!plain || job.id.size() < kMinIdLength || job.id.size() > kMaxIdLength) {
    throw Error(ErrorKind::bad_data,
                fmt::format("a job's id has {} to {} letters, digits and dashes", kMinIdLength, kMaxIdLength));
  }
  const json& candidates = checked([&]() -> const json& { return whole.at("candidates"); });
  if (!candidates.is_array() || candidates.empty())
    throw Error(ErrorKind::bad_data, "a job needs a list of candidates");
  for (const json& item : candidates) job.candidates.push_back(candidate_of(item));
  return job;
}

}  // namespace kc
