#include "cuda/extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/pattern.h"
#include "cuda/foreign_launches.h"
#include "cuda/source_check.h"

namespace kc {
namespace {

// What host headers would have brought, and NVRTC does not know by itself.
constexpr const char* kCompatibility =
    R"(#ifdef __CUDACC_RTC__
typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t;
typedef unsigned short uint16_t; typedef int int32_t; typedef unsigned int uint32_t; typedef long long int64_t;
typedef unsigned long long uint64_t; typedef unsigned long long uintptr_t; typedef unsigned int uint;
#endif
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623157e+308
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#define M_PI 3.14159265358979323846
)";

constexpr std::size_t kMaxBytes = 512 << 10;
constexpr std::size_t kMaxLine = 8000;
constexpr std::size_t kHead = 2000;  // what repetitions in patterns may run over, which try again at each character
constexpr int kDeepestBlock = 16;    // of namespaces and extern "C"

// Generated sources and tables, not what somebody would turn into a candidate; the work grows with both.
std::optional<std::string> fault_of_size(std::string_view text) {
  if (text.size() > kMaxBytes) return fmt::format("has {} bytes: at most {} are read", text.size(), kMaxBytes);
  int line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end - at > kMaxLine)
      return fmt::format("line {} has {} characters: at most {} are read", line, end - at, kMaxLine);
    at = end + 1;
  }
  return std::nullopt;
}

// Patterns are few and compiled once each. What their repetitions run over must be bounded by the caller.
bool has(const std::string& text, const char* pattern) {
  static thread_local std::map<std::string, Pattern> known;
  return known.try_emplace(pattern, pattern).first->second.find(text).has_value();
}

// Headers that device code may keep; others are the host's.
bool is_device_header(const std::string& name) {
  static const std::set<std::string> exact = {"mma.h",           "cuda_fp16.h",     "cuda_bf16.h",         "cuda_fp8.h",
                                              "cuda_pipeline.h", "curand_kernel.h", "cooperative_groups.h"};
  return exact.contains(name) || name.starts_with("cub/") || name.starts_with("cooperative_groups/") ||
         name.starts_with("cuda/");
}

// A declaration at the top of a file, or a line of the preprocessor.
struct Piece {
  std::string text;  // as written
  std::string code;  // without comments
};

// Splits where no bracket is open: after ';', after the '}' of a body, after a directive.
std::vector<Piece> pieces_of(const std::string& source) {
  const std::string code = code_in_place(source);
  std::vector<Piece> pieces;
  std::size_t start = 0;
  int depth = 0;
  bool line_start = true;  // only blanks since the line began
  const auto cut = [&](std::size_t end) {
    pieces.push_back({source.substr(start, end - start), code.substr(start, end - start)});
    start = end;
  };
  for (std::size_t i = 0; i < code.size(); ++i) {
    const char c = code[i];
    const bool opens_line = std::exchange(line_start, c == '\n' || (line_start && (c == ' ' || c == '\t')));
    if (c == '#' && depth == 0 && opens_line) {
      if (code.find_first_not_of(" \t\r\n", start) < i) cut(i);
      std::size_t end = code.find('\n', i);
      end = end == std::string::npos ? code.size() : end + 1;
      i = end - 1;
      line_start = true;
      cut(end);
      continue;
    }
    if (c == '(' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '}' || c == ']') depth = std::max(0, depth - 1);
    const bool body_ends = c == '}' && depth == 0 && code.find_first_not_of(" \t\r\n", i + 1) != std::string::npos &&
                           code[code.find_first_not_of(" \t\r\n", i + 1)] != ';';
    if (depth == 0 && (c == ';' || body_ends)) cut(i + 1);
  }
  if (start < code.size()) cut(code.size());
  return pieces;
}

enum class Fate { keep, drop, open };

Fate fate_of_directive(const std::string& line, std::string& missing) {
  static const Pattern include(R"(^#\s*include\s*[<"]?\s*([^>"\s]*))");
  static const Pattern pragma(R"(^#\s*pragma\s+once)");
  if (pragma.find(line)) return Fate::drop;
  const auto match = include.match(line);
  if (!match) return Fate::keep;
  const std::string name(match->groups[1]);
  for (const char* library : {"cute/", "cutlass/", "flashinfer/", "thrust/", "cudnn", "nccl"}) {
    if (name.starts_with(library)) missing = name;
  }
  return is_device_header(name) ? Fate::keep : Fate::drop;
}

Fate fate_of(const Piece& piece, std::string& missing) {
  const std::size_t first = piece.code.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return Fate::drop;
  // A comment above the line belongs to the piece.
  if (piece.code[first] == '#') return fate_of_directive(collapse_blanks(piece.text.substr(first, kHead)), missing);
  const std::string code = collapse_blanks(piece.code.substr(first));
  const std::string head = code.substr(0, std::min(code.find_first_of(";({"), kHead) + 1);
  if (has(code, R"(\b(__global__|__device__|__constant__)\b)")) {
    const bool is_block = has(head, R"(^(namespace\b[^;{(]*|extern\s+"\s*"\s*)\{)");
    return is_block ? Fate::open : Fate::keep;
  }
  if (has(code, R"(\b(torch|at|c10|pybind11)\s*::|PYBIND11_MODULE|TORCH_)")) return Fate::drop;
  if (has(head, R"(^(using\s+namespace\s+std\b))")) return Fate::drop;
  if (has(head, R"(^(template\s*<[^{;(]*>\s*)?(struct|class|enum|union|typedef|using)\b)")) return Fate::keep;
  if (has(head, R"(^(static\s+|inline\s+){0,4}(constexpr|const)\b)")) return Fate::keep;
  return Fate::drop;
}

// NVRTC refuses the whole of CUB, which holds host code.
std::string with_usable_headers(std::string text) {
  constexpr std::string_view kAll = "<cub/cub.cuh>";
  const std::size_t at = text.find(kAll);
  if (at == std::string::npos) return text;
  return text.replace(at, kAll.size(), "<cub/block/block_reduce.cuh>\n#include <cub/warp/warp_reduce.cuh>");
}

struct Collected {
  std::string kept;
  std::string missing;  // a header of another library
  bool too_deep = false;
};

// Appends what may stay; blocks (namespaces, extern "C") are looked into.
void collect(const std::string& source, Collected& all, int depth = 0) {
  if (depth > kDeepestBlock) {
    all.too_deep = true;
    return;
  }
  for (const Piece& piece : pieces_of(source)) {
    const Fate fate = fate_of(piece, all.missing);
    if (fate == Fate::keep) all.kept += with_usable_headers(piece.text);
    if (fate != Fate::open) continue;
    const std::size_t open = piece.code.find('{');
    const std::size_t close = piece.code.rfind('}');
    if (open == std::string::npos || close == std::string::npos || close < open) continue;
    all.kept += piece.text.substr(0, open + 1);
    collect(piece.text.substr(open + 1, close - open - 1), all, depth + 1);
    all.kept += piece.text.substr(close) + "\n";
  }
}

// What `pattern`'s first group is behind each `mark`, in the text up to the next one, a body, ';' or kHead characters.
std::vector<std::string> names_behind(const std::string& code, std::string_view mark, const Pattern& pattern) {
  std::vector<std::string> names;
  for (std::size_t at = code.find(mark); at != std::string::npos;) {
    const std::size_t next = code.find(mark, at + mark.size());
    std::string text = code.substr(at + mark.size(), std::min(kHead, next - at - mark.size()));
    text.resize(std::min(text.find_first_of(";{"), text.size()));
    if (const auto match = pattern.match(text)) names.emplace_back(match->groups[1]);
    at = next;
  }
  return names;
}

// Of the __global__ functions.
std::vector<std::string> kernel_names(const std::string& code) {
  static const Pattern function(R"(\b(\w+)\s*\()");
  static const Pattern bounded(R"(^\s*\([^)]*\)\s*(\w+)\s*\()");
  std::vector<std::string> names = names_behind(code, "__global__", function);
  std::erase(names, "__launch_bounds__");
  for (std::string& name : names_behind(code, "__launch_bounds__", bounded)) names.push_back(std::move(name));
  return names;
}

// Template instances that launches name; PyTorch's dispatch type becomes float.
void name_instances(ExtractedDevice& device) {
  static const Pattern dispatched(R"(\b(scalar_t|T)\b)");
  std::set<std::string> names;
  for (const ForeignLaunch& launch : device.launches) {
    if (launch.kernel.find('<') == std::string::npos) continue;
    names.insert(dispatched.replaced(launch.kernel, "float"));
  }
  device.instances.assign(names.begin(), names.end());
}

// `whose`: lines, in words.
Expected<ExtractedDevice, std::string> extract_from_cuda(const std::string& text, const char* whose) {
  if (auto fault = fault_of_size(text)) return Unexpected(std::move(*fault));
  if (const auto line = endless_line(text)) {
    return Unexpected(fmt::format("a comment or a literal begins in line {}{} and never ends", *line, whose));
  }
  ExtractedDevice device;
  Collected collected;
  collect(text, collected);
  if (collected.too_deep) return Unexpected(fmt::format("namespaces are nested more than {} deep", kDeepestBlock));
  const auto& [kept, missing, too_deep] = collected;
  const std::string code = collapse_blanks(code_only(kept));
  device.kernels = kernel_names(code);
  if (device.kernels.empty()) return Unexpected(std::string("no __global__ function"));
  if (!missing.empty()) return Unexpected(fmt::format("device code needs {}, which is not of the toolkit", missing));
  if (has(code, R"(\b(torch|at|c10)\s*::|PackedTensorAccessor)")) {
    return Unexpected(std::string("device code uses types of PyTorch"));
  }
  device.source = kCompatibility + kept;
  device.launches = launches_in(text);
  name_instances(device);
  return device;
}

// Whether a line is an import of Python; one of a thousand characters is none.
bool has_import(const std::string& source) {
  static const Pattern import(R"(^(import|from)\s+[A-Za-z_][\w.]*(\s+(as|import)\b|\s*($|,)))");
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t end = std::min(source.find('\n', at), source.size());
    const std::string_view line = std::string_view(source).substr(at, end - at);
    const bool may_be = line.size() < 1000 && (line.starts_with("import") || line.starts_with("from"));
    if (may_be && import.find(line)) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

Expected<ExtractedDevice, std::string> extract_device_code(std::string_view text) {
  if (auto fault = fault_of_size(text)) return Unexpected(std::move(*fault));
  const std::string source(text);
  const bool is_python = has_import(source);
  if (!is_python) return extract_from_cuda(source, "");
  std::string joined;
  std::vector<PythonText> device;
  std::vector<PythonText> pieces;  // of a kernel whose body is another text
  const std::vector<PythonText> literals = python_texts(source);
  for (const PythonText& literal : literals) {
    if (!has(literal.text, R"(\b(__global__|__device__)\b)")) continue;
    const bool has_body = has(literal.text, R"(\{)");
    (has_body ? device : pieces).push_back(literal);
    if (has_body) joined += literal.text + "\n";
  }
  if (const auto how = python_building(source, literals, joined.empty() ? pieces : device))
    return Unexpected(fmt::format("device code is built at run time ({})", *how));
  if (joined.empty()) {
    if (has(collapse_blanks(source), R"(@triton\.jit|import\s+triton)"))
      return Unexpected(std::string("a Triton kernel, not CUDA"));
    return Unexpected(std::string("no device code: it calls operations of PyTorch"));
  }
  return extract_from_cuda(joined, " of the device code");
}

}  // namespace kc
