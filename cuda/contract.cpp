#include "cuda/contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "base/error.h"
#include "cuda/directives.h"
#include "cuda/source_check.h"

namespace kc {
namespace {

constexpr std::string_view kDirective = "kernelcast";
constexpr std::size_t kMaxDirectives = 64;

constexpr std::pair<std::string_view, DataType> kTypeNames[] = {{"f32", DataType::f32}, {"f64", DataType::f64},
                                                                {"i32", DataType::i32}, {"i64", DataType::i64},
                                                                {"u8", DataType::u8},   {"u32", DataType::u32}};

void skip_spaces(std::string_view& text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
}

std::string take_word(std::string_view& text) {
  skip_spaces(text);
  std::size_t end = 0;
  while (end < text.size() && is_word(text[end])) ++end;
  const std::string word(text.substr(0, end));
  text.remove_prefix(end);
  return word;
}

// The rest of a line after `#pragma kernelcast`, or nothing for any other line.
std::optional<std::string_view> directive_of(std::string_view line) {
  skip_spaces(line);
  if (line.empty() || line.front() != '#') return std::nullopt;
  line.remove_prefix(1);
  if (take_word(line) != "pragma" || take_word(line) != kDirective) return std::nullopt;
  return line;
}

// "name(a, b(c, d))": the name and its arguments, split at commas that stand in no bracket.
struct Clause {
  std::string name;
  std::vector<std::string> arguments;
};

std::string trimmed(std::string_view text) {
  skip_spaces(text);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return std::string(text);
}

std::optional<Clause> take_clause(std::string_view& text) {
  Clause clause;
  clause.name = take_word(text);
  skip_spaces(text);
  if (clause.name.empty() || text.empty() || text.front() != '(') return std::nullopt;
  int depth = 0;
  std::size_t start = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    const bool ends = text[i] == ')' && --depth == 0;
    if (!ends && !(text[i] == ',' && depth == 1)) continue;
    clause.arguments.push_back(trimmed(text.substr(start, i - start)));
    start = i + 1;
    if (!ends) continue;
    text.remove_prefix(i + 1);
    return clause;
  }
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(std::string_view source) { contract_.device_source.reserve(source.size()); }

  // `code`: the line without comments and strings, where a directive is looked for. False once a fault was found.
  bool line(std::string_view text, std::string_view code) {
    ++line_;
    const auto directive = directive_of(code) ? directive_of(text) : std::nullopt;
    if (contract_.host_line > 0) {
      if (directive) return fail("a directive after `host`: directives belong to the device part");
      contract_.host_source.append(text).append("\n");
      return true;
    }
    if (!directive) {
      contract_.device_source.append(text).append("\n");
      return true;
    }
    contract_.device_source.append("\n");
    return read(*directive);
  }

  Expected<CudaContract, Refusal> finish() {
    if (fault_) return Unexpected(*fault_);
    const bool launches = std::any_of(contract_.steps.begin(), contract_.steps.end(),
                                      [](const StepDirective& step) { return step.launch.has_value(); });
    const bool has_host = contract_.host_line > 0;
    if (has_host && trimmed(contract_.host_source).empty()) {
      return Unexpected(Refusal{contract_.host_line, "the host part is empty"});
    }
    if (has_host && !contract_.steps.empty()) {
      return Unexpected(Refusal{contract_.steps[0].line, "with a host part, its `run` launches and zeroes"});
    }
    if (!launches && !has_host) {
      return Unexpected(Refusal{0,
                                "no launch: add a line like `#pragma kernelcast launch run "
                                "grid(ceil_div(N, 256)) block(256)`"});
    }
    return std::move(contract_);
  }

 private:
  bool fail(std::string message) {
    fault_ = Refusal{line_, std::move(message)};
    return false;
  }

  bool read(std::string_view text) {
    if (contract_.steps.size() + contract_.scratch.size() >= kMaxDirectives) {
      return fail(fmt::format("more than {} directives", kMaxDirectives));
    }
    const std::string kind = take_word(text);
    if (kind == "launch") return read_launch(text);
    if (kind == "scratch") return read_scratch(text);
    if (kind == "zero") {
      contract_.steps.push_back({std::nullopt, take_word(text), line_});
      skip_spaces(text);
      return !contract_.steps.back().zero.empty() && text.empty() ? true : fail("expected `zero NAME`");
    }
    if (kind == "host") {
      if (!trimmed(text).empty()) return fail("expected `host` alone: its C++ begins on the next line");
      contract_.host_line = line_;
      return true;
    }
    if (kind == "library") return fail("`library` is for the baselines of a task: a candidate brings its own kernel");
    return fail(fmt::format("unknown directive '{}'; expected launch, scratch, zero or host", kind));
  }

  bool read_launch(std::string_view text) {
    LaunchDirective launch;
    launch.line = line_;
    launch.kernel = take_word(text);
    if (launch.kernel.empty()) return fail("expected `launch KERNEL grid(...) block(...)`");
    bool has_grid = false;
    bool has_block = false;
    for (skip_spaces(text); !text.empty(); skip_spaces(text)) {
      const auto clause = take_clause(text);
      if (!clause) return fail(fmt::format("expected NAME(...) at '{}'", std::string(text.substr(0, 40))));
      if (!read_clause(launch, *clause)) return false;
      has_grid |= clause->name == "grid";
      has_block |= clause->name == "block";
    }
    if (!has_grid || !has_block) return fail("a launch needs grid(...) and block(...)");
    contract_.steps.push_back({std::move(launch), "", line_});
    return true;
  }

  bool read_clause(LaunchDirective& launch, const Clause& clause) {
    const std::map<std::string_view, std::array<std::string, 3>*> shapes = {
        {"grid", &launch.grid}, {"block", &launch.block}, {"cluster", &launch.cluster}};
    if (const auto shape = shapes.find(clause.name); shape != shapes.end()) {
      if (clause.arguments.size() > 3) return fail(fmt::format("{}: one to three numbers", clause.name));
      std::copy(clause.arguments.begin(), clause.arguments.end(), shape->second->begin());
      return true;
    }
    const std::map<std::string_view, std::string*> singles = {{"shared", &launch.shared}, {"when", &launch.when}};
    const auto single = singles.find(clause.name);
    if (single == singles.end()) {
      return fail(fmt::format("unknown '{}(...)'; expected grid, block, shared, cluster or when", clause.name));
    }
    if (clause.arguments.size() != 1) return fail(fmt::format("{}: one expression", clause.name));
    *single->second = clause.arguments[0];
    return true;
  }

  bool read_scratch(std::string_view text) {
    ScratchDirective scratch;
    scratch.line = line_;
    scratch.name = take_word(text);
    const auto clause = take_clause(text);
    skip_spaces(text);
    if (scratch.name.empty() || !clause || clause->arguments.size() != 1 || !text.empty()) {
      return fail("expected `scratch NAME TYPE(elements)`, as in `scratch partial f32(N / 256)`");
    }
    const auto* type = std::find_if(std::begin(kTypeNames), std::end(kTypeNames),
                                    [&](const auto& entry) { return entry.first == clause->name; });
    if (type == std::end(kTypeNames)) {
      return fail(fmt::format("unknown type '{}'; expected f32, f64, i32, i64, u8 or u32", clause->name));
    }
    scratch.dtype = type->second;
    scratch.elements = clause->arguments[0];
    contract_.scratch.push_back(std::move(scratch));
    return true;
  }

  CudaContract contract_;
  std::optional<Refusal> fault_;
  int line_ = 0;
};

std::string parameter_list(const TaskPack& pack, const CudaContract& contract) {
  std::string list = "Case c";
  for (const TensorSpec& input : pack.inputs) list += fmt::format(", const {}* {}", cuda_type(input.dtype), input.name);
  for (const TensorSpec& output : pack.outputs) list += fmt::format(", {}* {}", cuda_type(output.dtype), output.name);
  for (const ScratchDirective& s : contract.scratch) list += fmt::format(", {}* {}", cuda_type(s.dtype), s.name);
  return list;
}

}  // namespace

std::string Refusal::text(const std::string& file) const {
  return line > 0 ? fmt::format("{}({}): refused: {}", file, line, message)
                  : fmt::format("{}: refused: {}", file, message);
}

std::vector<std::string> CudaContract::kernels() const {
  std::vector<std::string> names;
  for (const StepDirective& step : steps) {
    if (step.launch && std::find(names.begin(), names.end(), step.launch->kernel) == names.end()) {
      names.push_back(step.launch->kernel);
    }
  }
  return names;
}

Expected<CudaContract, Refusal> read_contract(std::string_view source) {
  const std::string code = code_in_place(source);
  Reader reader(source);
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t end = std::min(source.find('\n', at), source.size());
    std::string_view line = source.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool continues = at > 0 && code[at - 1] != '\n';
    if (!reader.line(line, continues ? std::string_view() : std::string_view(code).substr(at, line.size()))) break;
    at = end + 1;
  }
  return reader.finish();
}

std::string_view cuda_type(DataType type) {
  switch (type) {
    case DataType::f32:
      return "float";
    case DataType::f64:
      return "double";
    case DataType::i32:
      return "int";
    case DataType::i64:
      return "long long";
    case DataType::u8:
      return "unsigned char";
    case DataType::u32:
      return "unsigned int";
  }
  return "void";
}

std::string cuda_prelude(const TaskPack& pack, const CudaContract& contract, const Parameters& parameters,
                         const std::string& file) {
  std::string text = "struct Case {";
  for (const std::string& name : pack.size_names) text += fmt::format(" long long {};", name);
  text += " };\n";
  const std::string list = parameter_list(pack, contract);
  for (const std::string& kernel : contract.kernels()) {
    text += fmt::format("extern \"C\" __global__ void {}({});\n", kernel, list);
  }
  for (const auto& [name, value] : parameters) text += fmt::format("#define {} {}\n", name, value);
  return text + fmt::format("#line 1 \"{}\"\n", file);
}

std::string cuda_unit(const TaskPack& pack, const CudaContract& contract, const Parameters& parameters,
                      const std::string& file) {
  return cuda_prelude(pack, contract, parameters, file) + contract.device_source;
}

}  // namespace kc
