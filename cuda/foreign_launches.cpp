#include "cuda/foreign_launches.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <regex>

#include "cuda/source_check.h"

namespace kc {
namespace {

constexpr int kDeepestDefinition = 8;
constexpr std::size_t kLongestExpression = 500;  // definitions of definitions may grow without end

std::string on_one_line(const std::string& text) {
  static const std::regex blanks(R"(\s+)");
  std::string line = std::regex_replace(text, blanks, " ");
  line.erase(0, line.find_first_not_of(' '));
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::vector<std::string> split_arguments(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '}' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (std::string& part : parts) part = on_one_line(part);
  return parts;
}

// What lies between the bracket at `open` and the one that closes it.
std::optional<std::string> inside_brackets(const std::string& code, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < code.size(); ++i) {
    if (code[i] == '(') ++depth;
    if (code[i] == ')' && --depth == 0) return code.substr(open + 1, i - open - 1);
  }
  return std::nullopt;
}

using Definitions = std::map<std::string, std::string>;

// Integers and shapes with one definition in the whole text, by name; those with several have none here.
Definitions definitions_in(const std::string& code) {
  static const std::regex macro(R"(#\s*define\s+(\w+)\s+(\d+)\b)");
  static const std::regex integer(
      R"(\b(?:int|unsigned|long|auto|size_t|u?int(?:32|64)_t|dim3)\s+(\w+)\s*=\s*([^;={}]+);)");
  static const std::regex shape(R"(\bdim3\s+(\w+)\s*\()");
  static const std::regex only_a_call(R"([\w.:>-]+\([^()]*\))");  // `n` says more than `x.numel()`
  std::multimap<std::string, std::string> found;
  const auto collect = [&](const std::regex& form) {
    for (std::sregex_iterator it(code.begin(), code.end(), form), end; it != end; ++it) {
      found.emplace((*it)[1].str(), on_one_line((*it)[2].str()));
    }
  };
  collect(macro);
  collect(integer);
  for (std::sregex_iterator it(code.begin(), code.end(), shape), end; it != end; ++it) {
    const auto open = static_cast<std::size_t>(it->position() + it->length()) - 1;
    if (const auto axes = inside_brackets(code, open)) found.emplace((*it)[1].str(), fmt::format("dim3({})", *axes));
  }
  Definitions definitions;
  for (const auto& [name, value] : found) {
    const bool is_shape = value.starts_with("dim3(");
    if (found.count(name) == 1 && (is_shape || !std::regex_match(value, only_a_call))) definitions[name] = value;
  }
  return definitions;
}

std::string resolved(const std::string& expression, const Definitions& definitions, int depth = 0) {
  static const std::regex word(R"(\b[A-Za-z_]\w*\b)");
  static const std::regex atom(R"(\w+|dim3\(.*\))");
  std::string result;
  std::size_t at = 0;
  for (std::sregex_iterator it(expression.begin(), expression.end(), word), end; it != end; ++it) {
    const auto known = definitions.find(it->str());
    if (known == definitions.end() || depth == kDeepestDefinition) continue;
    const auto begin = static_cast<std::size_t>(it->position());
    const std::string value = resolved(known->second, definitions, depth + 1);
    result += expression.substr(at, begin - at);
    result += std::regex_match(value, atom) ? value : fmt::format("({})", value);
    at = begin + it->str().size();
  }
  result += expression.substr(at);
  return result.size() > kLongestExpression ? expression : result;
}

// "x, y" of "dim3(x, y)".
std::string axes_of(const std::string& shape) {
  if (!shape.starts_with("dim3(") || !shape.ends_with(')')) return shape;
  return fmt::format("{}", fmt::join(split_arguments(shape.substr(5, shape.size() - 6)), ", "));
}

}  // namespace

std::vector<ForeignLaunch> launches_in(const std::string& source) {
  static const std::regex form(R"((\w+)\s*(<[^<>;(]*>)?\s*<<<)");
  const std::string code = code_only(source);
  const Definitions definitions = definitions_in(code);
  std::vector<ForeignLaunch> launches;
  for (std::sregex_iterator it(code.begin(), code.end(), form), end; it != end; ++it) {
    const auto start = static_cast<std::size_t>(it->position() + it->length());
    const std::size_t close = code.find(">>>", start);
    if (close == std::string::npos) continue;
    auto parts = split_arguments(code.substr(start, close - start));
    parts.resize(3);
    for (std::string& part : parts) part = resolved(part, definitions);
    ForeignLaunch launch{(*it)[1].str() + (*it)[2].str(), parts[0], parts[1].empty() ? "1" : parts[1],
                         parts[2].empty() ? "0" : parts[2], ""};
    const std::size_t open = code.find('(', close);
    if (open != std::string::npos) launch.arguments = on_one_line(inside_brackets(code, open).value_or(""));
    launches.push_back(std::move(launch));
  }
  return launches;
}

std::string draft_candidate(const ExtractedDevice& device) {
  std::string text =
      "// Taken out of host code. To be done: parameters as the contract has them, and launches over the task's sizes\n"
      "// (docs/cuda.md, \"Import\").\n";
  for (const ForeignLaunch& launch : device.launches) {
    const std::string name = launch.kernel.substr(0, launch.kernel.find('<'));
    text += fmt::format("// was {}({})\n#pragma kernelcast launch {} grid({}) block({})", launch.kernel,
                        launch.arguments, name, axes_of(launch.grid), axes_of(launch.block));
    text += (launch.shared == "0" ? "" : fmt::format(" shared({})", launch.shared)) + "\n";
  }
  return text + device.source;
}

}  // namespace kc
