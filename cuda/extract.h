#pragma once
// Device code out of candidates that were written as PyTorch extensions (a .cu with torch/extension.h, load_inline
// strings) or as KernelBench modules (Python files with ModelNew). Host code is dropped: what remains can be compiled,
// read and compared, and becomes a candidate once it has the contract's parameters and launch lines (docs/cuda.md).
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"

namespace kc {

// `kernel<float, 256><<<grid, block, shared>>>(a, b)` as it stands in the host code that was dropped; in `grid`,
// `block` and `shared` the host's variables that are defined once are replaced by their definitions.
struct ForeignLaunch {
  std::string kernel;  // with template arguments
  std::string grid;
  std::string block;
  std::string shared;  // "0" when not said
  std::string arguments;
};

struct ExtractedDevice {
  std::string source;                // device code; headers of the toolkit only
  std::vector<std::string> kernels;  // names of the __global__ functions
  std::vector<ForeignLaunch> launches;
  std::vector<std::string> instances;  // of templates, to be compiled: "kernel<float, 256>"
};

// Or the reason why there is no device code of its own: only calls of PyTorch, a Triton kernel, text built at run time,
// types of PyTorch or headers of other libraries inside device code.
Expected<ExtractedDevice, std::string> extract_device_code(std::string_view text);

// The device code behind launch lines as the contract has them, with what was passed beside each: what its author turns
// into a candidate. Their expressions are still the host's.
std::string draft_candidate(const ExtractedDevice& device);

// Contents of the string literals of a Python file, escapes resolved, neighbours joined; f-strings are told apart.
struct PythonText {
  std::string text;
  bool is_format = false;
  int line = 0;
  std::size_t begin = 0, end = 0;  // where it stands in the source, with prefix and quotes
};
std::vector<PythonText> python_texts(std::string_view source);

// How the program makes another text of one of `some` of its literals, be it at the literal or where the variable is
// used that it was assigned to: "an f-string in line 3", "the operator + in line 4", ".format(...) in line 12".
std::optional<std::string> python_building(std::string_view source, const std::vector<PythonText>& all,
                                           const std::vector<PythonText>& some);

}  // namespace kc
