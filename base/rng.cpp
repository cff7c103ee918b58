#include "base/rng.h"

#include <cmath>
#include <numbers>

namespace kc {
namespace {

struct Block {
  std::uint32_t word[4];
};

Block philox_4x32_10(std::uint64_t counter_low, std::uint64_t counter_high, std::uint64_t key) {
  constexpr std::uint32_t kMultiplier0 = 0xD2511F53U;
  constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57U;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9U;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85U;
  Block x{{static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32),
           static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32)}};
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * x.word[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * x.word[2];
    x = Block{{static_cast<std::uint32_t>(product1 >> 32) ^ x.word[1] ^ key0, static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ x.word[3] ^ key1, static_cast<std::uint32_t>(product0)}};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return x;
}

std::uint64_t low_word(const Block& block) { return std::uint64_t{block.word[1]} << 32 | block.word[0]; }

// Counter space is split by the high half: 0 for draws, 1 for children by index, 2 for children by name.
std::uint64_t derive(std::uint64_t key, std::uint64_t value, std::uint64_t purpose) {
  return low_word(philox_4x32_10(value, purpose, key));
}

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

}  // namespace

RngStream::RngStream(std::uint64_t seed) : state_{derive(0, seed, 1), 0} {}

RngStream RngStream::child(std::string_view name) const {
  return RngStream(State{derive(state_.key, fnv1a(name), 2), 0});
}

RngStream RngStream::child(std::uint64_t index) const { return RngStream(State{derive(state_.key, index, 1), 0}); }

std::uint64_t RngStream::next_u64() { return derive(state_.key, state_.counter++, 0); }

double RngStream::uniform() { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }

double RngStream::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

std::uint64_t RngStream::below(std::uint64_t bound) {
  // Rejection: values under `threshold` would make the low residues more likely.
  const std::uint64_t threshold = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t draw = next_u64();
    if (draw >= threshold) return draw % bound;
  }
}

}  // namespace kc
