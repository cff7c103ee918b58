#pragma once
// Random inputs of task packs (docs/task-packs.md, "Generators").
#include <cstddef>
#include <span>

#include "base/rng.h"
#include "measure/task_pack.h"

namespace kc {

inline constexpr std::size_t kMaxSizes = 16;
inline constexpr std::size_t kMaxTensors = 16;  // inputs and outputs together

// Error{bad_data} for an unknown kind or option, a missing option, a data type or a range that does not fit.
void check_generator(const TensorSpec& tensor, const CaseSpec& input_case);

// The input as it is drawn for the check on hard inputs: by its check generator where it has one.
TensorSpec hard_input(TensorSpec tensor);

// Fills `bytes` (elements x size of the type, aligned for it) for a tensor that check_generator accepted. All values
// follow from the stream's next draw.
void generate(const TensorSpec& tensor, const CaseSpec& input_case, RngStream& rng, std::span<std::byte> bytes);

}  // namespace kc
