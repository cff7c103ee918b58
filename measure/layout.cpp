#include "measure/layout.h"

#include <cstring>

#include "measure/rounding_model.h"

namespace kc {
namespace {

std::size_t round_up(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

std::uint64_t pattern_word(std::uint64_t seed, std::size_t index) {
  const std::uint64_t z = (seed + index) * 0x9E3779B97F4A7C15U;
  return z ^ (z >> 29);
}

std::byte pattern_byte(std::uint64_t seed, std::size_t at) {
  return static_cast<std::byte>(pattern_word(seed, at / 8) >> (at % 8 * 8));
}

}  // namespace

SetLayout layout_of(const std::vector<TensorSpec>& tensors, const CaseSpec& input_case) {
  SetLayout layout;
  std::size_t at = kGuardBytes;
  for (const TensorSpec& tensor : tensors) {
    const std::size_t bytes = static_cast<std::size_t>(elements_of(tensor, input_case)) * size_of(tensor.dtype);
    layout.buffers.push_back({at, bytes});
    at = round_up(at + bytes) + kGuardBytes;
  }
  layout.bytes = at;
  return layout;
}

void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed) {
  auto* words = reinterpret_cast<std::uint64_t*>(bytes.data());
  const std::size_t count = bytes.size() / 8;
  for (std::size_t i = 0; i < count; ++i) words[i] = pattern_word(seed, i);
}

std::ptrdiff_t first_broken_guard(const SetLayout& layout, std::span<const std::byte> bytes, std::uint64_t seed) {
  std::size_t at = 0;
  for (std::size_t b = 0; b <= layout.buffers.size(); ++b) {
    const std::size_t end = b < layout.buffers.size() ? layout.buffers[b].offset : layout.bytes;
    for (; at < end; ++at) {
      if (bytes[at] != pattern_byte(seed, at)) return static_cast<std::ptrdiff_t>(at);
    }
    if (b < layout.buffers.size()) at = layout.buffers[b].offset + layout.buffers[b].bytes;
  }
  return -1;
}

bool is_unwritten(const SetLayout& layout, std::size_t buffer, double position, std::span<const std::byte> bytes,
                  std::uint64_t seed) {
  const BufferSpan& span = layout.buffers[buffer];
  const std::size_t words = span.bytes / 8;
  if (words == 0) return false;
  const std::size_t word = span.offset / 8 + static_cast<std::size_t>(position * static_cast<double>(words));
  std::uint64_t found = 0;
  std::memcpy(&found, bytes.data() + word * 8, 8);
  return found == pattern_word(seed, word);
}

std::vector<TensorSpec> reference_outputs(const TaskPack& pack) {
  std::vector<TensorSpec> outputs = pack.outputs;
  for (TensorSpec& output : outputs) {
    if (!is_floating(output.dtype)) continue;
    if (pack.tolerance.is_derived()) {
      output.shape = std::to_string(size_of_rounded(output.dtype) / sizeof(double)) + " * (" + output.shape + ")";
    }
    output.dtype = DataType::f64;
  }
  return outputs;
}

}  // namespace kc
