#include "measure/task_pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "measure/expression.h"
#include "measure/generators.h"
#include "measure/yaml_reader.h"

namespace kc {
namespace {

constexpr std::pair<const char*, DataType> kTypes[] = {{"f32", DataType::f32}, {"f64", DataType::f64},
                                                       {"i32", DataType::i32}, {"i64", DataType::i64},
                                                       {"u8", DataType::u8},   {"u32", DataType::u32}};

DataType read_type(const YamlReader& node) {
  const std::string name = node.text();
  for (const auto& [known, type] : kTypes) {
    if (name == known) return type;
  }
  throw node.fault(fmt::format("unknown type '{}'; expected f32, f64, i32, i64, u8 or u32", name));
}

// Adds the line of the file to a fault of an expression.
template <class F>
auto located(const YamlReader& node, const F& evaluation) {
  try {
    return evaluation();
  } catch (const Error& e) {
    throw node.fault(e.what());
  }
}

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
  return read_file(file);
}

void read_cases(TaskPack& pack, const YamlReader& root) {
  for (const YamlReader& name : root.at("sizes").items()) pack.size_names.push_back(read_identifier(name));
  const std::size_t sizes = pack.size_names.size();
  if (sizes == 0 || sizes > kMaxSizes) throw root.at("sizes").fault(fmt::format("expected 1 to {} sizes", kMaxSizes));
  for (const YamlReader& node : root.at("cases").items()) {
    node.allow_keys({"name", "sizes"});
    CaseSpec spec;
    spec.name = node.at("name").text();
    for (const auto& [name, value] : node.at("sizes").entries()) {
      const bool known = std::find(pack.size_names.begin(), pack.size_names.end(), name) != pack.size_names.end();
      if (!known) throw value.fault("not one of the task's sizes");
      spec.sizes[name] = value.integer();
    }
    for (const std::string& name : pack.size_names) {
      if (!spec.sizes.contains(name)) throw node.fault(fmt::format("case {} lacks the size {}", spec.name, name));
    }
    pack.cases.push_back(std::move(spec));
  }
  if (pack.cases.empty()) throw root.at("cases").fault("a task needs at least one case");
}

void read_generator(const TaskPack& pack, TensorSpec& tensor, const YamlReader& node) {
  tensor.generator = node.at("kind").text();
  for (const auto& [key, value] : node.entries()) {
    if (key == "kind") continue;
    tensor.options[key] = value.text();
    for (const CaseSpec& spec : pack.cases) {
      located(value, [&, &node_of_value = value] { return evaluate(node_of_value.text(), to_variables(spec.sizes)); });
    }
  }
  located(node, [&] {
    for (const CaseSpec& spec : pack.cases) check_generator(tensor, spec);
    return 0;
  });
}

TensorSpec read_tensor(const TaskPack& pack, const YamlReader& node, bool is_input) {
  if (is_input) {
    node.allow_keys({"name", "dtype", "shape", "generator"});
  } else {
    node.allow_keys({"name", "dtype", "shape"});
  }
  TensorSpec tensor;
  tensor.name = read_identifier(node.at("name"));
  tensor.dtype = read_type(node.at("dtype"));
  const YamlReader shape = node.at("shape");
  tensor.shape = shape.text();
  for (const CaseSpec& spec : pack.cases) {
    located(shape, [&] { return evaluate_integer(tensor.shape, to_variables(spec.sizes), 1); });
  }
  if (is_input) read_generator(pack, tensor, node.at("generator"));
  return tensor;
}

void read_tensors(TaskPack& pack, const YamlReader& root) {
  if (root.has("inputs")) {
    for (const YamlReader& node : root.at("inputs").items()) pack.inputs.push_back(read_tensor(pack, node, true));
  }
  for (const YamlReader& node : root.at("outputs").items()) pack.outputs.push_back(read_tensor(pack, node, false));
  if (pack.outputs.empty()) throw root.at("outputs").fault("a task needs at least one output");
  if (pack.inputs.size() + pack.outputs.size() > kMaxTensors) {
    throw root.at("outputs").fault(fmt::format("more than {} inputs and outputs", kMaxTensors));
  }
}

Tolerance read_tolerance(const YamlReader& node) {
  node.allow_keys({"relative", "absolute", "reason"});
  Tolerance tolerance;
  if (node.has("relative")) tolerance.relative = node.at("relative").number();
  if (node.has("absolute")) tolerance.absolute = node.at("absolute").number();
  if (tolerance.relative < 0 || tolerance.absolute < 0) throw node.fault("a tolerance must not be negative");
  tolerance.reason = node.at("reason").text();
  return tolerance;
}

std::string read_expect(const YamlReader& node) {
  const std::string expect = node.text_or("expect", "");
  for (const char* known : {"", "ok", "compile_error", "runtime_error", "incorrect", "timeout"}) {
    if (expect == known) return expect;
  }
  throw node.at("expect").fault(fmt::format("unknown status '{}'", expect));
}

CandidateSource read_candidate(const TaskPack& pack, const YamlReader& node) {
  node.allow_keys({"source", "tunables", "constraints", "max_instances", "expect"});
  CandidateSource source;
  source.file = node.at("source").text();
  source.text = read_source(pack, node.at("source"));
  source.expect = read_expect(node);
  if (node.has("max_instances")) source.max_instances = node.at("max_instances").integer();
  if (!node.has("tunables")) {
    if (node.has("constraints")) throw node.at("constraints").fault("constraints without tunables");
    return source;
  }
  for (const auto& [name, values] : node.at("tunables").entries()) {
    if (!is_identifier(name)) throw values.fault("not a name of letters, digits and _");
    std::vector<std::string> texts;
    for (const YamlReader& value : values.items()) texts.push_back(value.text());
    if (texts.empty()) throw values.fault("a tunable needs at least one value");
    source.tunables.emplace_back(name, std::move(texts));
  }
  if (!node.has("constraints")) return source;
  Variables first;
  for (const auto& [name, values] : source.tunables) first[name] = std::strtod(values[0].c_str(), nullptr);
  for (const YamlReader& constraint : node.at("constraints").items()) {
    source.constraints.push_back(constraint.text());
    located(constraint, [&] { return evaluate(constraint.text(), first); });
  }
  return source;
}

// The seed's parameters in the order in which its template declares them.
Parameters order_as_declared(const TaskPack& pack, const std::string& file, const Parameters& set,
                             const YamlReader& node) {
  const auto source = std::find_if(pack.sources.begin(), pack.sources.end(),
                                   [&](const CandidateSource& s) { return s.file == file && !s.tunables.empty(); });
  if (source == pack.sources.end()) return set;
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

void read_seed(TaskPack& pack, const YamlReader& node) {
  node.allow_keys({"source", "set"});
  const std::string file = node.at("source").text();
  Parameters set;
  if (node.has("set")) {
    for (const auto& [name, value] : node.at("set").entries()) set.emplace_back(name, value.text());
  }
  pack.seed.language = "cpp";
  pack.seed.source = read_source(pack, node.at("source"));
  pack.seed.template_id = sha256_hex(pack.seed.source);
  pack.seed.parameters = order_as_declared(pack, file, set, node);
  pack.seed_name = file;
  for (const auto& [name, value] : pack.seed.parameters) pack.seed_name += fmt::format(" {}={}", name, value);
}

void read_compiler(TaskPack& pack, const YamlReader& node) {
  node.allow_keys({"flags"});
  for (const YamlReader& flag : node.at("flags").items()) pack.compiler_flags.push_back(flag.text());
}

}  // namespace

std::size_t size_of(DataType type) {
  switch (type) {
    case DataType::f64:
    case DataType::i64:
      return 8;
    case DataType::u8:
      return 1;
    default:
      return 4;
  }
}

bool is_floating(DataType type) { return type == DataType::f32 || type == DataType::f64; }

std::int64_t elements_of(const TensorSpec& tensor, const CaseSpec& input_case) {
  return evaluate_integer(tensor.shape, to_variables(input_case.sizes), 1);
}

double work_of(const TaskPack& pack, const CaseSpec& input_case) {
  return evaluate(pack.work, to_variables(input_case.sizes));
}

TaskPack load_task_pack(const std::filesystem::path& folder) {
  const YamlReader root = YamlReader::load(folder / "task.yaml");
  root.allow_keys({"name", "title", "sizes", "cases", "inputs", "outputs", "tolerance", "reference", "seed",
                   "candidates", "compiler", "threads", "work"});
  TaskPack pack;
  pack.folder = folder;
  pack.name = root.at("name").text();
  const std::filesystem::path named = folder.filename().empty() ? folder.parent_path() : folder;
  if (pack.name != std::filesystem::absolute(named).lexically_normal().filename()) {
    throw root.at("name").fault(fmt::format("'{}' is not the folder's name", pack.name));
  }
  pack.title = root.at("title").text();
  read_cases(pack, root);
  read_tensors(pack, root);
  pack.tolerance = read_tolerance(root.at("tolerance"));
  pack.reference_source = read_source(pack, root.at("reference"));
  if (root.has("candidates")) {
    for (const YamlReader& node : root.at("candidates").items()) pack.sources.push_back(read_candidate(pack, node));
  }
  read_seed(pack, root.at("seed"));
  if (root.has("compiler")) read_compiler(pack, root.at("compiler"));
  if (root.has("threads")) pack.threads = static_cast<int>(root.at("threads").integer());
  if (pack.threads < 1 || pack.threads > 1024) throw root.at("threads").fault("expected 1 to 1024");
  pack.work = root.text_or("work", "1");
  for (const CaseSpec& spec : pack.cases) {
    const double work = located(root.has("work") ? root.at("work") : root, [&] { return work_of(pack, spec); });
    if (!(work > 0)) throw root.at("work").fault("the work of a launch must be positive");
  }
  return pack;
}

std::vector<TaskPack> load_task_packs(const std::filesystem::path& root) {
  std::set<std::filesystem::path> folders;
  if (std::filesystem::is_directory(root)) {
    for (const auto& entry : std::filesystem::directory_iterator(root)) {
      if (std::filesystem::exists(entry.path() / "task.yaml")) folders.insert(entry.path());
    }
  }
  if (folders.empty()) {
    throw Error(ErrorKind::bad_data, fmt::format("{}: no folder with a task.yaml; expected task packs", root.string()));
  }
  std::vector<TaskPack> packs;
  for (const auto& folder : folders) packs.push_back(load_task_pack(folder));
  return packs;
}

}  // namespace kc
