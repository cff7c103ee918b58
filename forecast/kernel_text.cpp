#include "forecast/kernel_text.h"

#include <string_view>

#include "forecast/source_text.h"

namespace kc {

namespace {

std::string define_lines(const Parameters& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters) text += "#define " + name + " " + value + "\n";
  return text;
}

}  // namespace

std::string instantiated_source(const KernelText& kernel) {
  return (kernel.prologue.empty() ? define_lines(kernel.parameters) : kernel.prologue) + kernel.source;
}

std::string normalised_source(const KernelText& kernel) {
  std::string text = define_lines(kernel.parameters);
  for (const std::string& line : code_lines(kernel.source, kernel.language)) {
    if (!text.empty() && text.back() != '\n') text += ' ';
    text += line;
  }
  return text;
}

}  // namespace kc
