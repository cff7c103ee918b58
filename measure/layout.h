#pragma once
// Where the buffers of one launch lie: each 64-byte aligned, with guard bytes before and after.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "measure/task_pack.h"

namespace kc {

inline constexpr std::size_t kGuardBytes = 256;

struct BufferSpan {
  std::size_t offset = 0;  // in the set
  std::size_t bytes = 0;
};

struct SetLayout {
  std::vector<BufferSpan> buffers;
  std::size_t bytes = 0;  // of the whole set, a multiple of 64
};
SetLayout layout_of(const std::vector<TensorSpec>& tensors, const CaseSpec& input_case);

// Fills a whole set, guards and buffers, with the pattern of `seed`; `bytes` must be a multiple of 8 long.
void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed);

// Index of the first byte outside the buffers that no longer holds the pattern of `seed`, or -1.
std::ptrdiff_t first_broken_guard(const SetLayout& layout, std::span<const std::byte> bytes, std::uint64_t seed);

// Whether a word of a buffer, `position` in [0, 1) of the way through it, still holds the pattern of `seed`. False for
// buffers too short to tell.
bool is_unwritten(const SetLayout& layout, std::size_t buffer, double position, std::span<const std::byte> bytes,
                  std::uint64_t seed);

// The outputs as the reference writes them: floating types become f64, or as many f64 as hold a `real` of
// measure/reference/rounded_number.h.
std::vector<TensorSpec> reference_outputs(const TaskPack& pack);

}  // namespace kc
