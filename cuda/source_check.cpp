#include "cuda/source_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "base/pattern.h"
#include "cuda/directives.h"

namespace kc {
namespace {

constexpr std::size_t kMostShown = 200;  // characters of a header's name

enum class Mode { code, line_comment, block_comment, text, character };

struct Rule {
  const char* pattern;
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

const std::vector<std::pair<Pattern, const char*>>& compiled_rules() {
  static const auto compiled = [] {
    std::vector<std::pair<Pattern, const char*>> rules;
    for (const Rule& rule : kRules) rules.emplace_back(Pattern(rule.pattern), rule.message);
    return rules;
  }();
  return compiled;
}

int line_of(std::string_view text, std::size_t at) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

bool skip(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text = trim(text.substr(word.size()));
  return true;
}

// What an #include names, with its opening delimiter; nothing for other lines.
std::optional<std::string_view> included(std::string_view line) {
  std::string_view target = trim(line);
  if (!skip(target, "#") && !skip(target, "%:") && !skip(target, "?\?=")) return std::nullopt;
  if (!skip(target, "include_next") && !skip(target, "include")) return std::nullopt;
  return target;
}

// `allowed`: whose headers may be included.
std::optional<std::string> include_fault(std::string_view line, const char* allowed) {
  const auto target = included(line);
  if (!target) return std::nullopt;
  if (target->size() < 3 || (target->front() != '<' && target->front() != '"')) {
    return "an #include whose file a macro names: name it";
  }
  const std::string_view whole = target->substr(1, target->find_first_of(">\"", 1) - 1);
  const std::string_view file = whole.substr(0, kMostShown);
  if (whole.starts_with("/") || whole.find("..") != std::string::npos || whole.find('\\') != std::string::npos) {
    return fmt::format("#include of '{}': only headers of {}, by their name", file, allowed);
  }
  if (file.starts_with("torch/") || file.starts_with("ATen/") || file.starts_with("c10/")) {
    return fmt::format("#include of '{}': the contract takes device code only; `import` can extract it", file);
  }
  return std::nullopt;
}

std::optional<std::string> device_include_fault(std::string_view line) {
  return include_fault(line, "the CUDA toolkit");
}

// Headers of CUDA would name what is not linked, and <dlfcn.h> leads around the table.
std::optional<std::string> host_include_fault(std::string_view line) {
  if (auto fault = include_fault(line, "the system")) return fault;
  const auto target = included(line);
  if (!target) return std::nullopt;
  for (const std::string_view name : {"cuda", "cublas", "cudnn", "nvrtc", "nvml", "driver_types", "dlfcn"}) {
    if (!target->substr(1).starts_with(name)) continue;
    return fmt::format("#include of {}: the host part has the driver through `KernelcastHost` alone",
                       target->substr(0, kMostShown));
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

// A number holds points and separators; one longer than this is taken for none.
bool is_in_number(std::string_view text, std::size_t at) {
  constexpr std::size_t kLongest = 64;
  std::size_t begin = at;
  while (begin > 0 && at - begin < kLongest &&
         (is_word(text[begin - 1]) || text[begin - 1] == '\'' || text[begin - 1] == '.')) {
    --begin;
  }
  return begin < at && std::isdigit(static_cast<unsigned char>(text[begin])) != 0;
}

// Finds the ends of raw strings, R"x(...)x".
class RawStrings {
 public:
  explicit RawStrings(std::string_view text) : text_(text) {}

  // From the quote at `at` to the one that ends it; 0 for any other string, and where no end is found.
  std::size_t length(std::size_t at) {
    if (at == 0 || text_[at - 1] != 'R' || searches_ == kMostSearches) return 0;
    std::size_t begin = at;
    while (begin > 0 && at - begin < 4 && is_word(text_[begin - 1])) --begin;
    const std::string_view prefix = text_.substr(begin, at - begin);
    if (prefix != "R" && prefix != "u8R" && prefix != "uR" && prefix != "UR" && prefix != "LR") return 0;
    const std::size_t open = text_.substr(0, at + 18).find('(', at);
    if (open == std::string_view::npos) return 0;
    const std::string close = ")" + std::string(text_.substr(at + 1, open - at - 1)) + "\"";
    const std::size_t end = text_.find(close, open);
    if (end != std::string_view::npos) return end + close.size() - at;
    if (!endless_) endless_ = at;
    ++searches_;  // to the end of the text, in vain
    return 0;
  }

  // Where the first one begins that has no end.
  std::optional<std::size_t> endless() const { return endless_; }

 private:
  static constexpr int kMostSearches = 64;
  std::string_view text_;
  int searches_ = 0;
  std::optional<std::size_t> endless_;
};

// Blanks one character after another, keeping line ends; `keep_text` keeps string literals. `endless` becomes where a
// comment or a literal begins that the text ends in.
std::string blank(std::string_view text, bool keep_text, std::optional<std::size_t>* endless = nullptr) {
  std::string out;
  RawStrings raw_strings(text);
  Mode mode = Mode::code;
  std::size_t begin = 0;  // of what is no code
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    const bool was_code = mode == Mode::code;
    if (was_code) begin = i;
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
      out += keep_text ? c : ' ';
      if (++i < text.size()) out += keep_text ? next : ' ';
      continue;
    }
    const bool quote = (c == '"' && mode != Mode::character) || (c == '\'' && mode != Mode::text);
    if (was_code && c == '"') {
      if (const std::size_t length = raw_strings.length(i); length > 0) {
        for (const char inner : text.substr(i, length)) out += keep_text || inner == '\n' ? inner : ' ';
        out[out.size() - length] = out.back() = '"';
        i += length - 1;
        continue;
      }
    }
    const bool digit_separator = c == '\'' && was_code && is_in_number(text, i);
    if (quote && !digit_separator && (was_code || in_text)) {
      mode = was_code ? (c == '"' ? Mode::text : Mode::character) : Mode::code;
      out += c;
      continue;
    }
    const bool shown = mode == Mode::code || (keep_text && in_text) || c == '\n';
    out += shown ? c : ' ';
  }
  if (endless != nullptr) {
    *endless = raw_strings.endless();
    if (mode != Mode::code && mode != Mode::line_comment) *endless = std::min(endless->value_or(begin), begin);
  }
  return out;
}

std::optional<Refusal> find_include_fault(const std::string& joined,
                                          std::optional<std::string> (*fault_of)(std::string_view line)) {
  const std::string with_names = blank(joined, true);
  for (std::size_t at = 0; at < with_names.size();) {
    const std::size_t end = std::min(with_names.find('\n', at), with_names.size());
    if (auto fault = fault_of(std::string_view(with_names).substr(at, end - at))) {
      return Refusal{line_of(with_names, at), std::move(*fault)};
    }
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace

std::string code_only(std::string_view source) { return blank(join_continued(source), false); }

std::optional<int> endless_line(std::string_view source) {
  // A quote that is open at the end of a line may be an apostrophe of text that nobody compiles.
  const std::string joined = join_continued(source) + "\n";
  std::optional<std::size_t> at;
  blank(joined, false, &at);
  return at ? std::optional(line_of(joined, *at)) : std::nullopt;
}

std::string code_in_place(std::string_view source) {
  std::string joined(source);
  for (std::size_t at = joined.find('\\'); at != std::string::npos; at = joined.find('\\', at + 1)) {
    std::size_t length = 0;
    if (source.substr(at + 1).starts_with("\n")) length = 2;
    if (source.substr(at + 1).starts_with("\r\n")) length = 3;
    joined.replace(at, length, length, ' ');
  }
  return blank(joined, false);
}

std::optional<Refusal> check_source(std::string_view device_source) {
  const std::string joined = join_continued(device_source);
  if (auto refusal = find_include_fault(joined, device_include_fault)) return refusal;
  const std::string code = blank(joined, false);
  for (const auto& [pattern, message] : compiled_rules()) {
    if (const auto at = pattern.find(code)) return Refusal{line_of(code, *at), message};
  }
  return std::nullopt;
}

std::optional<Refusal> check_host_source(const CudaContract& contract) {
  const std::string joined = join_continued(contract.host_source);
  auto refusal = find_include_fault(joined, host_include_fault);
  if (!refusal) {
    static const Pattern loads(R"(\bdl(open|mopen|sym|vsym)\s*\()");
    const std::string code = blank(joined, false);
    const auto at = loads.find(code);
    if (at) refusal = Refusal{line_of(code, *at), "loads a library: the host part has what `KernelcastHost` holds"};
  }
  if (refusal) refusal->line += contract.host_line;
  return refusal;
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
