#include "measure/task_pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "measure/expression.h"
#include "measure/generators.h"
#include "measure/rounding_model.h"
#include "measure/task_pack_parts.h"

namespace kc {

using task_parts::located;
using task_parts::NamedKernel;
using task_parts::read_candidate;
using task_parts::read_cases;
using task_parts::read_cold_cache;
using task_parts::read_cuda_part;
using task_parts::read_identifier;
using task_parts::read_seed;
using task_parts::read_source;

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

void read_sizes(TaskPack& pack, const YamlReader& root) {
  for (const YamlReader& name : root.at("sizes").items()) pack.size_names.push_back(read_identifier(name));
  const std::size_t sizes = pack.size_names.size();
  if (sizes == 0 || sizes > kMaxSizes) throw root.at("sizes").fault(fmt::format("expected 1 to {} sizes", kMaxSizes));
}

void read_generator(const TaskPack& pack, TensorSpec& tensor, const YamlReader& node) {
  tensor.generator = node.at("kind").text();
  tensor.options.clear();
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
    node.allow_keys({"name", "dtype", "shape", "generator", "check_generator"});
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
  if (!is_input) return tensor;
  if (node.has("check_generator")) {
    read_generator(pack, tensor, node.at("check_generator"));
    tensor.check_generator = tensor.generator;
    tensor.check_options = std::move(tensor.options);
  }
  read_generator(pack, tensor, node.at("generator"));
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
  node.allow_keys({"relative", "absolute", "standard_errors", "reason"});
  Tolerance tolerance;
  if (node.has("standard_errors")) {
    for (const char* key : {"relative", "absolute"}) {
      if (node.has(key)) throw node.at(key).fault("either this or standard_errors, which makes a bound by element");
    }
    tolerance.standard_errors = node.at("standard_errors").number();
    if (!(tolerance.standard_errors >= 1 && tolerance.standard_errors <= 1000)) {
      throw node.at("standard_errors").fault("expected 1 to 1000");
    }
    tolerance.reason = node.text_or("reason", "");
    return tolerance;
  }
  if (node.has("relative")) tolerance.relative = node.at("relative").number();
  if (node.has("absolute")) tolerance.absolute = node.at("absolute").number();
  if (tolerance.relative < 0 || tolerance.absolute < 0) throw node.fault("a tolerance must not be negative");
  tolerance.reason = node.at("reason").text();
  return tolerance;
}

void read_compiler(TaskPack& pack, const YamlReader& node) {
  node.allow_keys({"flags", "program", "c_program"});
  if (node.has("flags")) {
    for (const YamlReader& flag : node.at("flags").items()) pack.compiler_flags.push_back(flag.text());
  }
  pack.compiler = node.text_or("program", "");
  pack.c_compiler = node.text_or("c_program", "");
}

int read_threads(const YamlReader& node) {
  const std::int64_t threads = node.integer();
  if (threads < 1 || threads > 1024) throw node.fault("expected 1 to 1024");
  return static_cast<int>(threads);
}

void read_devices(TaskPack& pack, const YamlReader& root) {
  if (!root.has("devices")) return;
  pack.devices.clear();
  for (const YamlReader& device : root.at("devices").items()) {
    if (device.text() != "host" && device.text() != "cuda") {
      throw device.fault(fmt::format("unknown device '{}'; expected host or cuda", device.text()));
    }
    pack.devices.push_back(device.text());
  }
  if (pack.devices.empty()) throw root.at("devices").fault("a task needs at least one device");
  if (pack.supports("cuda") != root.has("cuda")) {
    throw root.at("devices").fault("the device cuda needs the part 'cuda:', and the part needs the device");
  }
}

// Seed and candidates of the host; a task of other devices only has none.
void read_host_part(TaskPack& pack, const YamlReader& root) {
  if (!pack.supports("host")) {
    for (const char* key : {"seed", "candidates", "compiler", "cache"}) {
      if (root.has(key)) throw root.at(key).fault("belongs to the device host, which the task does not name");
    }
    return;
  }
  if (root.has("candidates")) {
    for (const YamlReader& node : root.at("candidates").items()) pack.sources.push_back(read_candidate(pack, node));
  }
  NamedKernel seed = read_seed(pack, pack.sources, "cpp", root.at("seed"));
  pack.seed = std::move(seed.kernel);
  pack.seed_name = std::move(seed.name);
  if (root.has("compiler")) read_compiler(pack, root.at("compiler"));
  pack.cold_cache = read_cold_cache(root);
}

}  // namespace

std::vector<CaseSpec> task_parts::read_cases(const std::vector<std::string>& size_names, const YamlReader& root) {
  std::vector<CaseSpec> cases;
  for (const YamlReader& node : root.at("cases").items()) {
    node.allow_keys({"name", "sizes"});
    CaseSpec spec;
    spec.name = node.at("name").text();
    for (const auto& [name, value] : node.at("sizes").entries()) {
      const bool known = std::find(size_names.begin(), size_names.end(), name) != size_names.end();
      if (!known) throw value.fault("not one of the task's sizes");
      spec.sizes[name] = value.integer();
    }
    for (const std::string& name : size_names) {
      if (!spec.sizes.contains(name)) throw node.fault(fmt::format("case {} lacks the size {}", spec.name, name));
    }
    cases.push_back(std::move(spec));
  }
  if (cases.empty()) throw root.at("cases").fault("a task needs at least one case");
  return cases;
}

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
                   "candidates", "compiler", "threads", "cache", "work", "devices", "cuda"});
  TaskPack pack;
  pack.folder = folder;
  pack.name = root.at("name").text();
  const std::filesystem::path named = folder.filename().empty() ? folder.parent_path() : folder;
  if (pack.name != std::filesystem::absolute(named).lexically_normal().filename()) {
    throw root.at("name").fault(fmt::format("'{}' is not the folder's name", pack.name));
  }
  pack.title = root.at("title").text();
  read_devices(pack, root);
  read_sizes(pack, root);
  pack.cases = read_cases(pack.size_names, root);
  read_tensors(pack, root);
  pack.tolerance = read_tolerance(root.at("tolerance"));
  if (pack.tolerance.is_derived()) located(root.at("tolerance"), [&] { return computing_type(pack); });
  pack.reference_source = read_source(pack, root.at("reference"));
  read_host_part(pack, root);
  if (root.has("threads")) pack.threads = read_threads(root.at("threads"));
  if (pack.threads > 1 && !pack.cold_cache) {
    throw root.at("cache").fault("warm is for tasks of one thread: several share no core's caches");
  }
  pack.work = root.text_or("work", "1");
  for (const CaseSpec& spec : pack.cases) {
    const double work = located(root.has("work") ? root.at("work") : root, [&] { return work_of(pack, spec); });
    if (!(work > 0)) throw root.at("work").fault("the work of a launch must be positive");
  }
  if (root.has("cuda")) pack.cuda = read_cuda_part(pack, root.at("cuda"));
  return pack;
}

bool TaskPack::supports(const std::string& device) const {
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

TaskPack pack_for_device(const TaskPack& pack, const std::string& device) {
  if (!pack.supports(device)) {
    throw Error(ErrorKind::bad_data, fmt::format("task {}: not for the device {}; its devices are {}", pack.name,
                                                 device, fmt::join(pack.devices, ", ")));
  }
  TaskPack own = pack;
  own.devices = {device};
  if (device != "cuda") return own;
  own.seed = pack.cuda->seed;
  own.seed_name = pack.cuda->seed_name;
  own.sources = pack.cuda->sources;
  if (!pack.cuda->cases.empty()) own.cases = pack.cuda->cases;
  return own;
}

std::optional<TaskPack> pack_for_admission(const TaskPack& pack, const std::string& device) {
  if (!pack.supports("host")) return std::nullopt;
  TaskPack own = pack_for_device(pack, "host");
  own.cases = pack_for_device(pack, device).cases;
  return own;
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
