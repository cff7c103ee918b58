#pragma once
// Where the buffers of one launch lie in device memory: each aligned to 256 bytes, with guard bytes before and after.
#include <span>
#include <vector>

#include "measure/layout.h"

namespace kc {

inline constexpr std::size_t kGpuAlignment = 256;

// As measure/layout.h has it, with the device's alignment. `bytes` is a multiple of 256.
SetLayout gpu_layout(const std::vector<std::size_t>& buffer_bytes);
std::vector<std::size_t> buffer_bytes(const std::vector<TensorSpec>& tensors, const CaseSpec& input_case);

// Copies the buffers of a set from one layout to another; both have the same buffers.
void copy_buffers(const SetLayout& from_layout, std::span<const std::byte> from, const SetLayout& to_layout,
                  std::span<std::byte> to);

}  // namespace kc
