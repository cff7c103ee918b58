#include "measure/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kc {
namespace {

struct Bounds {
  double absolute = 0;
  double relative = 0;
  double scale = 0;

  double of(double expected) const { return absolute + relative * std::max(std::fabs(expected), scale); }
};

// Branch-free over blocks, so that the compiler vectorises it: outputs are checked between timed rounds.
template <class T>
std::ptrdiff_t first_beyond(const T* got, const double* expected, std::size_t count, const Bounds& bounds) {
  constexpr std::size_t kBlock = 512;
  for (std::size_t start = 0; start < count; start += kBlock) {
    const std::size_t end = std::min(count, start + kBlock);
    int wrong = 0;
    for (std::size_t i = start; i < end; ++i) {
      wrong |= !(std::fabs(static_cast<double>(got[i]) - expected[i]) <= bounds.of(expected[i]));
    }
    if (wrong == 0) continue;
    for (std::size_t i = start; i < end; ++i) {
      if (!(std::fabs(static_cast<double>(got[i]) - expected[i]) <= bounds.of(expected[i]))) {
        return static_cast<std::ptrdiff_t>(i);
      }
    }
  }
  return -1;
}

template <class T>
std::optional<std::string> compare_floating(const TensorSpec& output, const std::byte* got, const std::byte* expected,
                                            std::size_t count, const Bounds& bounds) {
  const auto* values = reinterpret_cast<const T*>(got);
  const auto* wanted = reinterpret_cast<const double*>(expected);
  const std::ptrdiff_t at = first_beyond(values, wanted, count, bounds);
  if (at < 0) return std::nullopt;
  return fmt::format("output {}[{}] is {:.9g}; expected {:.9g} within {:.3g}", output.name, at,
                     static_cast<double>(values[at]), wanted[at], bounds.of(wanted[at]));
}

template <class T>
std::optional<std::string> compare_integers(const TensorSpec& output, const std::byte* got, const std::byte* expected,
                                            std::size_t count) {
  if (std::memcmp(got, expected, count * sizeof(T)) == 0) return std::nullopt;
  const auto* values = reinterpret_cast<const T*>(got);
  const auto* wanted = reinterpret_cast<const T*>(expected);
  const std::size_t at = static_cast<std::size_t>(std::mismatch(values, values + count, wanted).first - values);
  return fmt::format("output {}[{}] is {}; expected {}", output.name, at, static_cast<std::int64_t>(values[at]),
                     static_cast<std::int64_t>(wanted[at]));
}

std::optional<std::string> compare(const TensorSpec& output, const std::byte* got, const std::byte* expected,
                                   std::size_t count, const Bounds& bounds) {
  switch (output.dtype) {
    case DataType::f32:
      return compare_floating<float>(output, got, expected, count, bounds);
    case DataType::f64:
      return compare_floating<double>(output, got, expected, count, bounds);
    case DataType::i32:
      return compare_integers<std::int32_t>(output, got, expected, count);
    case DataType::i64:
      return compare_integers<std::int64_t>(output, got, expected, count);
    case DataType::u8:
      return compare_integers<std::uint8_t>(output, got, expected, count);
    case DataType::u32:
      return compare_integers<std::uint32_t>(output, got, expected, count);
  }
  return "unknown type";
}

}  // namespace

std::optional<std::string> finish_expected(const OutputCheck& check, ExpectedOutputs& expected) {
  expected.scales.assign(check.pack->outputs.size(), 0.0);
  for (std::size_t o = 0; o < check.pack->outputs.size(); ++o) {
    if (!is_floating(check.pack->outputs[o].dtype)) continue;
    const BufferSpan& span = check.reference_layout.buffers[o];
    const auto* values = reinterpret_cast<const double*>(expected.bytes.data() + span.offset);
    const std::size_t count = span.bytes / sizeof(double);
    double squares = 0;
    for (std::size_t i = 0; i < count; ++i) squares += values[i] * values[i];
    if (!std::isfinite(squares)) return check.pack->outputs[o].name;
    expected.scales[o] = std::sqrt(squares / static_cast<double>(count));
  }
  return std::nullopt;
}

std::optional<std::string> first_difference(const OutputCheck& check, const ExpectedOutputs& expected,
                                            std::span<const std::byte> outputs) {
  const Tolerance& tolerance = check.pack->tolerance;
  for (std::size_t o = 0; o < check.pack->outputs.size(); ++o) {
    const TensorSpec& output = check.pack->outputs[o];
    const BufferSpan& span = check.layout.buffers[o];
    const Bounds bounds{tolerance.absolute, tolerance.relative, expected.scales[o]};
    auto difference =
        compare(output, outputs.data() + span.offset, expected.bytes.data() + check.reference_layout.buffers[o].offset,
                span.bytes / size_of(output.dtype), bounds);
    if (difference) return difference;
  }
  return std::nullopt;
}

}  // namespace kc
