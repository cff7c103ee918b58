#pragma once
// Comparing outputs with the reference's. NaN and infinity agree with nothing.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/layout.h"
#include "measure/task_pack.h"

namespace kc {

// What the reference computed for one input set.
struct ExpectedOutputs {
  std::vector<std::byte> bytes;  // laid out as reference_outputs()
  std::vector<double> scales;    // per output: root mean square; 0 for integers
};

struct OutputCheck {
  const TaskPack* pack = nullptr;
  SetLayout layout;            // of the candidate's outputs
  SetLayout reference_layout;  // of the reference's
};

// Fills `scales`; the name of the first output with a value that is not finite, or nothing.
std::optional<std::string> finish_expected(const OutputCheck& check, ExpectedOutputs& expected);

// Nothing when every output agrees within the tolerance (integers: exactly); else what differs.
std::optional<std::string> first_difference(const OutputCheck& check, const ExpectedOutputs& expected,
                                            std::span<const std::byte> outputs);

}  // namespace kc
