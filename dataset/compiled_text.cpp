#include "dataset/compiled_text.h"

#include <functional>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"

namespace kc {
namespace {

constexpr std::string_view kAxes = "xyz";
constexpr std::string_view kBlanks = " \t";

// The name after `#pragma unroll` when the line is nothing but that; empty otherwise.
std::string_view unroll_name(std::string_view line) {
  for (const std::string_view word : {std::string_view("#pragma"), std::string_view("unroll")}) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    if (!line.starts_with(word)) return {};
    line.remove_prefix(word.size());
    if (line.find_first_not_of(kBlanks) == 0) return {};
  }
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  return line.substr(0, line.find_first_of(" \t\r"));
}

// `source` with each `#pragma unroll NAME` line replaced by what `replace` makes of it.
std::string map_unroll_lines(std::string_view source,
                             const std::function<std::string(std::string_view line, std::string_view name)>& replace) {
  std::string text;
  text.reserve(source.size());
  while (!source.empty()) {
    const std::size_t length = std::min(source.find('\n'), source.size());
    const std::string_view line = source.substr(0, length);
    const std::string_view name = unroll_name(line);
    if (name.empty()) {
      text += line;
    } else {
      text += replace(line, name);
    }
    if (length < source.size()) text += '\n';
    source.remove_prefix(std::min(length + 1, source.size()));
  }
  return text;
}

const std::string* value_of(const Parameters& parameters, std::string_view name) {
  for (const auto& [key, value] : parameters) {
    if (key == name) return &value;
  }
  return nullptr;
}

bool is_unroll_factor(std::string_view name) { return name.find("loop_unroll_factor") != std::string_view::npos; }

KernelText kernel_tuner_text(const TunedConfiguration& c) {
  KernelText kernel{c.language, c.template_id, c.source, c.parameters};
  std::string& lines = kernel.prologue;
  for (std::size_t i = 0; i < 3; ++i) lines += fmt::format("#define grid_size_{} {}\n", kAxes[i], c.grid[i]);
  for (std::size_t i = 0; i < 3; ++i) {
    if (!c.block_names[i].empty()) lines += fmt::format("#define {} {}\n", c.block_names[i], c.block[i]);
  }
  const bool cuda = c.language == "cuda";
  for (const auto& [name, value] : c.parameters) {
    lines += cuda && is_unroll_factor(name) ? fmt::format("constexpr int {} = {};\n", name, value)
                                            : fmt::format("#define {} {}\n", name, value);
  }
  lines += "#define kernel_tuner 1\n#line 1\n";
  if (!cuda) return kernel;
  kernel.source = map_unroll_lines(c.source, [&c](std::string_view line, std::string_view name) {
    const std::string* value = is_unroll_factor(name) ? value_of(c.parameters, name) : nullptr;
    return value != nullptr && *value == "0" ? std::string() : std::string(line);
  });
  return kernel;
}

KernelText ktt_text(const TunedConfiguration& c) {
  KernelText kernel{c.language, c.template_id, c.source, c.parameters};
  kernel.source = map_unroll_lines(c.source, [&c](std::string_view line, std::string_view name) {
    const std::string* value = value_of(c.parameters, name);
    if (value == nullptr) return std::string(line);
    const auto position = static_cast<std::size_t>(name.data() - line.data());
    return std::string(line.substr(0, position)) + *value + std::string(line.substr(position + name.size()));
  });
  return kernel;
}

}  // namespace

TuningTool tuning_tool_of(const std::string& name) {
  if (name == "kernel_tuner") return TuningTool::kernel_tuner;
  if (name == "ktt") return TuningTool::ktt;
  throw Error(
      ErrorKind::bad_data,
      fmt::format("unknown tuning tool '{}': the text it compiled cannot be told; expected kernel_tuner or ktt", name));
}

KernelText compiled_kernel(const TunedConfiguration& configuration) {
  return configuration.tool == TuningTool::kernel_tuner ? kernel_tuner_text(configuration) : ktt_text(configuration);
}

}  // namespace kc
