#include "cuda/gpu_layout.h"

#include <cstring>

namespace kc {

SetLayout gpu_layout(const std::vector<std::size_t>& sizes) {
  SetLayout layout;
  std::size_t at = kGpuAlignment;
  for (const std::size_t bytes : sizes) {
    layout.buffers.push_back({at, bytes});
    at = (at + bytes + kGpuAlignment - 1) / kGpuAlignment * kGpuAlignment + kGpuAlignment;
  }
  layout.bytes = at;
  return layout;
}

std::vector<std::size_t> buffer_bytes(const std::vector<TensorSpec>& tensors, const CaseSpec& input_case) {
  std::vector<std::size_t> sizes;
  for (const TensorSpec& tensor : tensors) {
    sizes.push_back(static_cast<std::size_t>(elements_of(tensor, input_case)) * size_of(tensor.dtype));
  }
  return sizes;
}

void copy_buffers(const SetLayout& from_layout, std::span<const std::byte> from, const SetLayout& to_layout,
                  std::span<std::byte> to) {
  for (std::size_t b = 0; b < from_layout.buffers.size(); ++b) {
    std::memcpy(to.data() + to_layout.buffers[b].offset, from.data() + from_layout.buffers[b].offset,
                from_layout.buffers[b].bytes);
  }
}

}  // namespace kc
