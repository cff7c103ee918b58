#include "cuda/foreign_launches.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>

#include "base/pattern.h"
#include "cuda/directives.h"
#include "cuda/source_check.h"

namespace kc {
namespace {

constexpr int kDeepestDefinition = 8;
constexpr std::size_t kLongestExpression = 500;  // definitions of definitions may grow without end
constexpr std::size_t kLongestArguments = 4000;

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
std::string on_one_line(std::string_view text) {
  std::string line = collapse_blanks(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  if (line.starts_with(' ')) line.erase(0, 1);
  if (line.ends_with(' ')) line.pop_back();
  return line;
}

std::vector<std::string> split_arguments(std::string_view text) {
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

// What lies between the bracket at `open` and the one that closes it, when that is not far.
std::optional<std::string> inside_brackets(const std::string& code, std::size_t open) {
  const std::size_t end = std::min(code.size(), open + kLongestArguments);
  int depth = 0;
  for (std::size_t i = open; i < end; ++i) {
    if (code[i] == '(') ++depth;
    if (code[i] == ')' && --depth == 0) return code.substr(open + 1, i - open - 1);
  }
  return std::nullopt;
}

using Definitions = std::map<std::string, std::string>;

void for_each_match(const Pattern& pattern, std::string_view code,
                    const std::function<void(const PatternMatch&)>& take) {
  for (auto match = pattern.match(code); match; match = pattern.match(code, match->end)) take(*match);
}

// Integers and shapes with one definition in the whole text, by name; those with several have none here.
Definitions definitions_in(const std::string& code) {
  static const Pattern macro(R"(#\s*define\s+(\w{1,100})\s+(\d{1,20})\b)");
  static const Pattern integer(R"(\b(?:int|unsigned|long|auto|size_t|u?int(?:32|64)_t|dim3)\s+(\w{1,100})\s*=\s*)");
  static const Pattern shape(R"(\bdim3\s+(\w{1,100})\s*\()");
  static const Pattern only_a_call(R"([\w.:>-]+\([^()]*\))");  // `n` says more than `x.numel()`
  std::multimap<std::string, std::string> found;
  for_each_match(macro, code, [&](const PatternMatch& match) { found.emplace(match.groups[1], match.groups[2]); });
  for_each_match(integer, code, [&](const PatternMatch& match) {
    const std::string_view value = std::string_view(code).substr(match.end, kLongestExpression);
    const std::size_t close = value.find_first_of(";={}");
    if (close == std::string_view::npos || close == 0 || value[close] != ';') return;
    found.emplace(match.groups[1], on_one_line(value.substr(0, close)));
  });
  for_each_match(shape, code, [&](const PatternMatch& match) {
    const auto axes = inside_brackets(code, match.end - 1);
    if (axes && axes->size() <= kLongestExpression) found.emplace(match.groups[1], fmt::format("dim3({})", *axes));
  });
  Definitions definitions;
  for (auto it = found.begin(); it != found.end();) {
    const auto& [name, value] = *it;
    const auto next = found.upper_bound(name);
    const bool is_shape = value.starts_with("dim3(");
    if (std::next(it) == next && (is_shape || !only_a_call.matches(value))) definitions[name] = value;
    it = next;
  }
  return definitions;
}

// Appends `expression` with its definitions to `result`; false as soon as that grows too long. Every word adds to the
// length, so that this bounds the work as well.
bool expand(const std::string& expression, const Definitions& definitions, int depth, std::string& result) {
  static const Pattern atom(R"(\w+|dim3\(.*\))");
  for (std::size_t at = 0; at < expression.size();) {
    std::size_t end = at;
    while (end < expression.size() && is_word(expression[end])) ++end;
    end = std::max(end, at + 1);
    const std::string word = expression.substr(at, end - at);
    at = end;
    const auto known = definitions.find(word);
    if (known == definitions.end() || depth == kDeepestDefinition) {
      result += word;
    } else {
      std::string value;
      if (!expand(known->second, definitions, depth + 1, value)) return false;
      result += atom.matches(value) ? value : fmt::format("({})", value);
    }
    if (result.size() > kLongestExpression) return false;
  }
  return true;
}

std::string resolved(const std::string& expression, const Definitions& definitions) {
  std::string result;
  return expand(expression, definitions, 0, result) ? result : expression;
}

// "x, y" of "dim3(x, y)".
std::string axes_of(const std::string& shape) {
  if (!shape.starts_with("dim3(") || !shape.ends_with(')')) return shape;
  return fmt::format("{}", fmt::join(split_arguments(shape.substr(5, shape.size() - 6)), ", "));
}

// The kernel, with template arguments, whose launch opens at `at`; empty when there is none.
std::string kernel_before(std::string_view code, std::size_t at) {
  const auto skip_blanks = [&code](std::size_t end) {
    while (end > 0 && is_blank(code[end - 1])) --end;
    return end;
  };
  std::size_t end = skip_blanks(at);
  std::string arguments;
  if (end > 0 && code[end - 1] == '>') {
    const std::size_t from = end - std::min(end, kLongestExpression);
    const std::size_t open = code.substr(from, end - 1 - from).find_last_of("<>;(");
    if (open == std::string_view::npos || code[from + open] != '<') return "";
    arguments = on_one_line(code.substr(from + open, end - from - open));
    end = skip_blanks(from + open);
  }
  std::size_t start = end;
  while (start > 0 && end - start < kLongestExpression && is_word(code[start - 1])) --start;
  return start == end ? "" : std::string(code.substr(start, end - start)) + arguments;
}

}  // namespace

std::string collapse_blanks(std::string_view text) {
  std::string collapsed;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_blank(text[i])) {
      collapsed += text[i++];
      continue;
    }
    bool line_ends = false;
    for (; i < text.size() && is_blank(text[i]); ++i) line_ends = line_ends || text[i] == '\n';
    collapsed += line_ends ? '\n' : ' ';
  }
  return collapsed;
}

std::vector<ForeignLaunch> launches_in(const std::string& source) {
  const std::string code = collapse_blanks(code_only(source));
  const Definitions definitions = definitions_in(code);
  std::vector<ForeignLaunch> launches;
  for (std::size_t at = code.find("<<<"); at != std::string::npos; at = code.find("<<<", at + 3)) {
    const std::string kernel = kernel_before(code, at);
    const std::string_view launch_text = std::string_view(code).substr(at + 3, kLongestArguments);
    const std::size_t close = launch_text.find(">>>");
    if (kernel.empty() || close == std::string_view::npos) continue;
    auto parts = split_arguments(launch_text.substr(0, close));
    parts.resize(3);
    for (std::string& part : parts) part = resolved(part, definitions);
    ForeignLaunch launch{kernel, parts[0], parts[1].empty() ? "1" : parts[1], parts[2].empty() ? "0" : parts[2], ""};
    at += close + 3;
    const std::size_t open = code.find_first_not_of(" \n", at + 3);
    if (open != std::string::npos && code[open] == '(') {
      launch.arguments = on_one_line(inside_brackets(code, open).value_or(""));
    }
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
  text += device.source;
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

}  // namespace kc
