#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/error.h"
#include "base/hash.h"
#include "base/rng.h"
#include "measure/expression.h"
#include "measure/rounding_model.h"
#include "measure/task_pack.h"

namespace kc {
namespace {

constexpr std::size_t kMaxCombinations = 1000000;

Variables numeric_values(const Parameters& parameters) {
  Variables variables;
  for (const auto& [name, value] : parameters) {
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (end != value.c_str() && *end == '\0') variables[name] = number;
  }
  return variables;
}

bool meets(const std::vector<std::string>& constraints, const Parameters& parameters) {
  if (constraints.empty()) return true;
  const Variables variables = numeric_values(parameters);
  return std::all_of(constraints.begin(), constraints.end(),
                     [&](const std::string& constraint) { return evaluate(constraint, variables) != 0; });
}

std::size_t combinations_of(const TaskPack& pack, const CandidateSource& source) {
  std::size_t total = 1;
  for (const auto& [name, values] : source.tunables) {
    total *= values.size();
    if (total > kMaxCombinations) {
      throw Error(ErrorKind::bad_data, fmt::format("{}: {}: more than {} combinations of tunables", pack.name,
                                                   source.file, kMaxCombinations));
    }
  }
  return total;
}

// Combination `index`, the last tunable turning fastest.
Parameters combination(const CandidateSource& source, std::size_t index) {
  Parameters parameters(source.tunables.size());
  for (std::size_t t = source.tunables.size(); t-- > 0;) {
    const auto& [name, values] = source.tunables[t];
    parameters[t] = {name, values[index % values.size()]};
    index /= values.size();
  }
  return parameters;
}

std::vector<Parameters> instances_of(const TaskPack& pack, const CandidateSource& source) {
  std::vector<Parameters> instances;
  const std::size_t total = combinations_of(pack, source);
  for (std::size_t i = 0; i < total; ++i) {
    Parameters parameters = combination(source, i);
    if (meets(source.constraints, parameters)) instances.push_back(std::move(parameters));
  }
  const auto wanted = static_cast<std::size_t>(source.max_instances);
  if (wanted == 0 || instances.size() <= wanted) return instances;
  std::vector<std::size_t> order(instances.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  RngStream rng = RngStream(0).child(pack.name).child(source.file);
  rng.shuffle(order);
  order.resize(wanted);
  std::sort(order.begin(), order.end());
  std::vector<Parameters> drawn;
  for (const std::size_t i : order) drawn.push_back(std::move(instances[i]));
  return drawn;
}

std::string name_of(const std::string& file, const Parameters& parameters) {
  std::string name = file;
  for (const auto& [key, value] : parameters) name += fmt::format(" {}={}", key, value);
  return name;
}

// Names come from files and from other machines: nothing in them may end the directive.
std::string line_directive(const std::string& name) {
  std::string file = name.substr(0, name.find(' '));
  for (char& c : file) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\') c = '_';
  }
  return fmt::format("#line 1 \"{}\"\n", file);
}

bool is_for_host(const TaskPack& pack) { return pack.seed.language == "cpp" || pack.seed.language == "c"; }

std::string language_of(const TaskPack& pack, const std::string& file) {
  return is_for_host(pack) ? host_language(file) : pack.seed.language;
}

}  // namespace

// On the host C kernels may stand beside C++ ones; a GPU has one language.
std::vector<std::string> languages_of(const TaskPack& pack) {
  if (is_for_host(pack)) return {"cpp", "c"};
  if (pack.seed.language == "cuda") return {"cuda"};
  return {};
}

std::string host_language(const std::string& file) { return file.ends_with(".c") ? "c" : "cpp"; }

bool has_c_sources(const TaskPack& pack) {
  return pack.seed.language == "c" || std::any_of(pack.sources.begin(), pack.sources.end(),
                                                  [](const auto& source) { return host_language(source.file) == "c"; });
}

std::vector<Candidate> list_candidates(const TaskPack& pack) {
  std::vector<Candidate> candidates;
  candidates.push_back({pack.seed_name, pack.seed, true, ""});
  for (const CandidateSource& source : pack.sources) {
    const std::string template_id = sha256_hex(source.text);
    for (Parameters& parameters : instances_of(pack, source)) {
      if (template_id == pack.seed.template_id && parameters == pack.seed.parameters) continue;
      std::string name = name_of(source.file, parameters);
      candidates.push_back({std::move(name),
                            {language_of(pack, source.file), template_id, source.text, std::move(parameters)},
                            false,
                            source.expect});
    }
  }
  return candidates;
}

std::string contract_prelude(const TaskPack& pack, std::string_view function, std::string_view language) {
  std::string members;
  for (const std::string& name : pack.size_names) members += fmt::format(" long long {};", name);
  const std::string prototype =
      fmt::format("void {}(const Case* c, const void* const* inputs, void* const* outputs);\n", function);
  if (language == "c") return "typedef struct Case {" + members + " } Case;\n" + prototype;
  return "struct Case {" + members + " };\nextern \"C\" " + prototype;
}

std::string candidate_unit(const TaskPack& pack, const Candidate& candidate) {
  std::string text = contract_prelude(pack, "run", candidate.kernel.language);
  for (const auto& [name, value] : candidate.kernel.parameters) text += fmt::format("#define {} {}\n", name, value);
  return text + line_directive(candidate.name) + candidate.kernel.source;
}

std::string reference_unit(const TaskPack& pack) {
  const std::string numbers = pack.tolerance.is_derived() ? rounded_number_prelude(pack) : "";
  return numbers + contract_prelude(pack, "reference") + line_directive("reference.cpp") + pack.reference_source;
}

}  // namespace kc
