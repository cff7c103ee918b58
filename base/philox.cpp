#include "base/philox.h"

namespace kc {
namespace {

std::uint32_t high(std::uint64_t product) { return static_cast<std::uint32_t>(product >> 32); }
std::uint32_t low(std::uint64_t product) { return static_cast<std::uint32_t>(product); }

}  // namespace

std::array<std::uint32_t, 4> philox_4x32_10(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53U;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57U;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9U;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85U;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {high(product1) ^ counter[1] ^ key[0], low(product1), high(product0) ^ counter[3] ^ key[1],
               low(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

}  // namespace kc
