#pragma once
// The block function under RngStream. Private to base and its tests.
#include <array>
#include <cstdint>

namespace kc {

// Philox 4x32 with 10 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a bijection of
// the counter for each key.
std::array<std::uint32_t, 4> philox_4x32_10(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

}  // namespace kc
