#pragma once
// Comparing outputs with the reference's. NaN and infinity agree with nothing.
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/layout.h"
#include "measure/task_pack.h"

namespace kc {

// A floating output: what is expected of each element, and how far from it is still right.
struct ExpectedValues {
  std::vector<double> values;
  std::vector<double> bounds;
};

// What the reference computed for one input set.
struct ExpectedOutputs {
  std::vector<std::byte> bytes;          // laid out as reference_outputs(); dropped where no output is of integers
  std::vector<ExpectedValues> floating;  // per output; empty for integers
};

struct OutputCheck {
  const TaskPack* pack = nullptr;
  SetLayout layout;            // of the candidate's outputs
  SetLayout reference_layout;  // of the reference's
};

// Fills `floating` from `bytes`; which value or error of an output is not finite or not written, or nothing.
std::optional<std::string> finish_expected(const OutputCheck& check, ExpectedOutputs& expected);

// Memory that the expected outputs of one set hold.
std::size_t expected_size(const OutputCheck& check);

// Nothing when every output agrees within the tolerance (integers: exactly); else what differs.
std::optional<std::string> first_difference(const OutputCheck& check, const ExpectedOutputs& expected,
                                            std::span<const std::byte> outputs);

}  // namespace kc
