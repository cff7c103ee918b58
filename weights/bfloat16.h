#pragma once
// bfloat16 as its 16 bits (the upper half of an IEEE float32), for code without a tensor library.
#include <bit>
#include <cstdint>

namespace kc {

inline float float_of_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

// Round to nearest, ties to even; NaN stays NaN (quiet).
inline std::uint16_t bfloat16_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

inline bool bfloat16_is_finite(std::uint16_t bits) { return (bits & 0x7F80U) != 0x7F80U; }

}  // namespace kc
