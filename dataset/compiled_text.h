#pragma once
// The text that a tuning tool compiled for one configuration of a template.
#include <array>
#include <cstdint>
#include <string>

#include "forecast/kernel_text.h"

namespace kc {

enum class TuningTool {
  kernel_tuner,  // grid, block and parameter lines, `#define kernel_tuner 1`, `#line 1`, then the template
  ktt,           // define lines; the number itself in `#pragma unroll NAME`
};
TuningTool tuning_tool_of(const std::string& name);  // Error{bad_data} when unknown

struct TunedConfiguration {
  TuningTool tool = TuningTool::kernel_tuner;
  std::string language;  // as in KernelText
  std::string template_id;
  std::string source;  // the template
  Parameters parameters;
  std::array<std::int64_t, 3> grid{};
  std::array<std::int64_t, 3> block{};
  std::array<std::string, 3> block_names;  // macros of the block's dimensions; empty: none
};

// Kernel Tuner, CUDA only: a parameter whose name contains loop_unroll_factor becomes `constexpr int NAME = VALUE;`,
// and with value 0 the `#pragma unroll NAME` is cut from the template (its line stays, empty). The tunables stay in
// `parameters` and the tool's lines go to `prologue`.
KernelText compiled_kernel(const TunedConfiguration& configuration);

}  // namespace kc
