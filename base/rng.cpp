#include "base/rng.h"

#include <cmath>
#include <numbers>

#include "base/philox.h"

namespace kc {
namespace {

std::uint32_t low(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
std::uint32_t high(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }

// Counter space is split by the high half: 0 for draws, 1 for children by index, 2 for children by name.
std::uint64_t derive(std::uint64_t key, std::uint64_t value, std::uint64_t purpose) {
  const auto block = philox_4x32_10({low(value), high(value), low(purpose), high(purpose)}, {low(key), high(key)});
  return std::uint64_t{block[1]} << 32 | block[0];
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
