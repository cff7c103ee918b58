#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/error.h"
#include "base/hash.h"
#include "base/source_text.h"
#include "measure/expression.h"
#include "measure/generators.h"
#include "measure/task_pack_parts.h"

namespace kc::task_parts {
namespace {

std::string read_expect(const YamlReader& node) {
  const std::string expect = node.text_or("expect", "");
  for (const char* known : {"", "ok", "compile_error", "runtime_error", "incorrect", "timeout"}) {
    if (expect == known) return expect;
  }
  throw node.at("expect").fault(fmt::format("unknown status '{}'", expect));
}

// The seed's parameters in the order in which its template declares them.
Parameters order_as_declared(const std::vector<CandidateSource>& sources, const std::string& file,
                             const Parameters& set, const YamlReader& node) {
  const auto source = std::find_if(sources.begin(), sources.end(),
                                   [&](const CandidateSource& s) { return s.file == file && !s.tunables.empty(); });
  if (source == sources.end()) return set;
  Parameters ordered;
  for (const auto& [name, values] : source->tunables) {
    const auto match =
        std::find_if(set.begin(), set.end(), [&wanted = name](const auto& entry) { return entry.first == wanted; });
    if (match == set.end()) throw node.fault(fmt::format("the seed does not set the tunable {}", name));
    ordered.push_back(*match);
  }
  if (ordered.size() != set.size())
    throw node.fault(fmt::format("the seed sets a tunable that {} does not have", file));
  return ordered;
}

std::int64_t read_max_instances(const YamlReader& node) {
  const std::int64_t most = node.integer();
  if (most < 0) throw node.fault(fmt::format("expected 0 (all) or more, got {}", most));
  return most;
}

void read_tunables(CandidateSource& source, const YamlReader& node) {
  for (const auto& [name, values] : node.entries()) {
    if (!is_identifier(name)) throw values.fault("not a name of letters, digits and _");
    std::vector<std::string> texts;
    for (const YamlReader& value : values.items()) texts.push_back(value.text());
    if (texts.empty()) throw values.fault("a tunable needs at least one value");
    source.tunables.emplace_back(name, std::move(texts));
  }
}

CudaBaseline read_baseline(const YamlReader& node) {
  node.allow_keys({"name", "library", "routine", "arguments"});
  CudaBaseline baseline;
  baseline.name = node.at("name").text();
  baseline.library = node.at("library").text();
  baseline.routine = node.at("routine").text();
  if (baseline.library != "cublas") throw node.at("library").fault("unknown library; expected cublas");
  for (const auto& [key, value] : node.at("arguments").entries()) baseline.arguments[key] = value.text();
  return baseline;
}

void check_case(const TaskPack& pack, const CaseSpec& spec, const YamlReader& node) {
  located(node, [&] {
    for (const TensorSpec& tensor : pack.inputs) {
      check_generator(tensor, spec);
      check_generator(hard_input(tensor), spec);
    }
    for (const TensorSpec& tensor : pack.outputs) elements_of(tensor, spec);
    return work_of(pack, spec);
  });
}

}  // namespace

bool is_identifier(const std::string& name) {
  const auto is_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), is_word);
}

std::string read_identifier(const YamlReader& node) {
  const std::string name = node.text();
  if (!is_identifier(name)) throw node.fault(fmt::format("'{}' is not a name of letters, digits and _", name));
  return name;
}

std::string read_source(const TaskPack& pack, const YamlReader& node) {
  const std::filesystem::path file = pack.folder / node.text();
  if (!std::filesystem::is_regular_file(file)) throw node.fault(fmt::format("the file {} is missing", file.string()));
  return read_source_text(file);
}

CandidateSource read_candidate(const TaskPack& pack, const YamlReader& node) {
  node.allow_keys({"source", "tunables", "constraints", "max_instances", "expect"});
  CandidateSource source;
  source.file = node.at("source").text();
  source.text = read_source(pack, node.at("source"));
  source.expect = read_expect(node);
  if (node.has("max_instances")) source.max_instances = read_max_instances(node.at("max_instances"));
  if (!node.has("tunables")) {
    if (node.has("constraints")) throw node.at("constraints").fault("constraints without tunables");
    return source;
  }
  read_tunables(source, node.at("tunables"));
  if (!node.has("constraints")) return source;
  Variables first;
  for (const auto& [name, values] : source.tunables) first[name] = std::strtod(values[0].c_str(), nullptr);
  for (const YamlReader& constraint : node.at("constraints").items()) {
    source.constraints.push_back(constraint.text());
    located(constraint, [&] { return evaluate(constraint.text(), first); });
  }
  return source;
}

NamedKernel read_seed(const TaskPack& pack, const std::vector<CandidateSource>& sources, const std::string& language,
                      const YamlReader& node) {
  node.allow_keys({"source", "set"});
  const std::string file = node.at("source").text();
  Parameters set;
  if (node.has("set")) {
    for (const auto& [name, value] : node.at("set").entries()) set.emplace_back(name, value.text());
  }
  NamedKernel seed;
  seed.kernel.language = language == "cpp" ? host_language(file) : language;
  seed.kernel.source = read_source(pack, node.at("source"));
  seed.kernel.template_id = sha256_hex(seed.kernel.source);
  seed.kernel.parameters = order_as_declared(sources, file, set, node);
  seed.name = file;
  for (const auto& [name, value] : seed.kernel.parameters) seed.name += fmt::format(" {}={}", name, value);
  return seed;
}

bool read_cold_cache(const YamlReader& node) {
  const std::string cache = node.text_or("cache", "cold");
  if (cache != "cold" && cache != "warm") throw node.at("cache").fault("expected cold or warm");
  return cache == "cold";
}

CudaPart read_cuda_part(const TaskPack& pack, const YamlReader& node) {
  node.allow_keys({"seed", "candidates", "cases", "options", "baselines", "cache"});
  CudaPart part;
  if (node.has("candidates")) {
    for (const YamlReader& item : node.at("candidates").items()) part.sources.push_back(read_candidate(pack, item));
  }
  NamedKernel seed = read_seed(pack, part.sources, "cuda", node.at("seed"));
  part.seed = std::move(seed.kernel);
  part.seed_name = std::move(seed.name);
  if (node.has("cases")) {
    part.cases = read_cases(pack.size_names, node);
    for (const CaseSpec& spec : part.cases) check_case(pack, spec, node.at("cases"));
  }
  if (node.has("options")) {
    for (const YamlReader& option : node.at("options").items()) part.options.push_back(option.text());
  }
  if (node.has("baselines")) {
    for (const YamlReader& item : node.at("baselines").items()) part.baselines.push_back(read_baseline(item));
  }
  part.cold_cache = read_cold_cache(node);
  return part;
}

}  // namespace kc::task_parts
