#include "cuda/source_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <string>
#include <utility>

namespace kc {
namespace {

enum class Mode { code, line_comment, block_comment, text, character };

struct Rule {
  const char* pattern;  // ECMAScript
  const char* message;
};

// In the order of the words' usefulness to the author.
constexpr Rule kRules[] = {
    {R"(\bint\s+main\s*\()", "host code: the contract takes device code only, and launches it itself"},
    {R"(<<<)", "a launch (<<< >>>): say how a kernel is launched in a `#pragma kernelcast launch` line"},
    {R"(\b(torch|at|c10|pybind11)\s*::)", "PyTorch: the contract takes device code only; `import` can extract it"},
    {R"(\bPYBIND11_MODULE\b|\bTORCH_LIBRARY\b)", "PyTorch: the contract takes device code only"},
    {R"(\bcuda(Malloc|Free|Memcpy|Memset|Stream|Event|Launch|Device|Func|Get|Set|Graph)\w*\s*\()",
     "a call of the CUDA runtime: the contract takes device code only"},
    {R"(\bcu(Launch|Mem|Module|Ctx|Stream|Event|Init|Device|Graph)\w*\s*\()",
     "a call of the CUDA driver: the contract takes device code only"},
    {R"(\bv?printf\s*\()", "device printf: a candidate writes to its outputs only"},
    {R"(\b__managed__\b)", "managed memory: a candidate has the buffers of the contract only"},
};

int line_of(std::string_view text, std::size_t at) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

std::optional<std::string> include_fault(const std::string& directive) {
  static const std::regex form(R"(^\s*(?:#|%:|\?\?=)\s*include(?:_next)?\s*(.*?)\s*$)");
  std::smatch match;
  if (!std::regex_match(directive, match, form)) return std::nullopt;
  const std::string target = match[1];
  if (target.size() < 3 || (target[0] != '<' && target[0] != '"')) {
    return "an #include whose file a macro names: name it";
  }
  const std::string file = target.substr(1, target.find_first_of(">\"", 1) - 1);
  if (file.starts_with("/") || file.find("..") != std::string::npos || file.find('\\') != std::string::npos) {
    return fmt::format("#include of '{}': only headers of the CUDA toolkit, by their name", file);
  }
  if (file.starts_with("torch/") || file.starts_with("ATen/") || file.starts_with("c10/")) {
    return fmt::format("#include of '{}': the contract takes device code only; `import` can extract it", file);
  }
  return std::nullopt;
}

// Joins lines that end in a backslash and keeps the count of lines.
std::string join_continued(std::string_view source) {
  std::string joined;
  int owed = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const bool crlf = source[i] == '\\' && source.substr(i + 1).starts_with("\r\n");
    if (crlf || (source[i] == '\\' && source.substr(i + 1).starts_with("\n"))) {
      i += crlf ? 2 : 1;
      ++owed;
    } else {
      joined += source[i];
      if (source[i] == '\n') joined.append(static_cast<std::size_t>(std::exchange(owed, 0)), '\n');
    }
  }
  return joined;
}

// Blanks one character after another, keeping line ends; `keep_text` keeps string literals.
std::string blank(std::string_view text, bool keep_text) {
  std::string out;
  Mode mode = Mode::code;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    const bool was_code = mode == Mode::code;
    if (was_code && c == '/' && (next == '/' || next == '*')) {
      mode = next == '/' ? Mode::line_comment : Mode::block_comment;
      out += "  ";
      ++i;
      continue;
    }
    const bool in_text = mode == Mode::text || mode == Mode::character;
    if (mode == Mode::block_comment && c == '*' && next == '/') {
      mode = Mode::code;
      out += "  ";
      ++i;
      continue;
    }
    if (c == '\n' && mode != Mode::block_comment) mode = Mode::code;
    if (in_text && c == '\\') {
      out += keep_text ? std::string{c, next} : "  ";
      ++i;
      continue;
    }
    const bool quote = (c == '"' && mode != Mode::character) || (c == '\'' && mode != Mode::text);
    const bool digit_separator =
        c == '\'' && was_code && i > 0 && std::isalnum(static_cast<unsigned char>(text[i - 1]));
    if (quote && !digit_separator && (was_code || in_text)) {
      mode = was_code ? (c == '"' ? Mode::text : Mode::character) : Mode::code;
      out += c;
      continue;
    }
    const bool shown = mode == Mode::code || (keep_text && in_text) || c == '\n';
    out += shown ? c : ' ';
  }
  return out;
}

}  // namespace

std::string code_only(std::string_view source) { return blank(join_continued(source), false); }

std::optional<Refusal> check_source(std::string_view device_source) {
  const std::string joined = join_continued(device_source);
  const std::string with_names = blank(joined, true);
  for (std::size_t at = 0; at < with_names.size();) {
    const std::size_t end = std::min(with_names.find('\n', at), with_names.size());
    if (auto fault = include_fault(with_names.substr(at, end - at))) {
      return Refusal{line_of(with_names, at), std::move(*fault)};
    }
    at = end + 1;
  }
  const std::string code = blank(joined, false);
  for (const Rule& rule : kRules) {
    std::smatch match;
    if (std::regex_search(code, match, std::regex(rule.pattern))) {
      return Refusal{line_of(code, static_cast<std::size_t>(match.position())), rule.message};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> check_binary(const CudaContract& contract, const CubinFacts& facts) {
  for (const std::string& kernel : contract.kernels()) {
    const bool defined = std::any_of(facts.kernels.begin(), facts.kernels.end(),
                                     [&](const KernelFacts& known) { return known.name == kernel; });
    if (defined) continue;
    return Refusal{0, fmt::format("no kernel '{}' with the parameters of the contract: `__global__ void {}(Case c, "
                                  "inputs, outputs, scratch)`, inputs as pointers to const",
                                  kernel, kernel)};
  }
  if (!facts.writable_symbols.empty()) {
    return Refusal{0, fmt::format("the __device__ variable '{}' keeps its value between launches; declare memory with "
                                  "`#pragma kernelcast scratch`",
                                  facts.writable_symbols[0])};
  }
  if (!facts.undefined.empty()) {
    return Refusal{
        0, fmt::format("calls '{}', which is the driver's: no device printf, heap or assertions", facts.undefined[0])};
  }
  return std::nullopt;
}

}  // namespace kc
