#include "measure/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "measure/rounding_model.h"

namespace kc {
namespace {

// Branch-free over blocks, so that the compiler vectorises it: outputs are checked between timed rounds.
template <class T>
std::ptrdiff_t first_beyond(const T* got, const ExpectedValues& expected) {
  constexpr std::size_t kBlock = 512;
  const double* values = expected.values.data();
  const double* bounds = expected.bounds.data();
  const std::size_t count = expected.values.size();
  const auto is_wrong = [&](std::size_t i) {
    return !(std::fabs(static_cast<double>(got[i]) - values[i]) <= bounds[i]);
  };
  for (std::size_t start = 0; start < count; start += kBlock) {
    const std::size_t end = std::min(count, start + kBlock);
    int wrong = 0;
    for (std::size_t i = start; i < end; ++i) wrong |= static_cast<int>(is_wrong(i));
    if (wrong == 0) continue;
    for (std::size_t i = start; i < end; ++i) {
      if (is_wrong(i)) return static_cast<std::ptrdiff_t>(i);
    }
  }
  return -1;
}

template <class T>
std::optional<std::string> compare_floating(const TensorSpec& output, const std::byte* got,
                                            const ExpectedValues& expected) {
  const auto* values = reinterpret_cast<const T*>(got);
  const std::ptrdiff_t at = first_beyond(values, expected);
  if (at < 0) return std::nullopt;
  const auto i = static_cast<std::size_t>(at);
  return fmt::format("output {}[{}] is {:.9g}; expected {:.9g} within {:.3g}", output.name, at,
                     static_cast<double>(values[i]), expected.values[i], expected.bounds[i]);
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
                                   const ExpectedValues& floating, std::size_t count) {
  switch (output.dtype) {
    case DataType::f32:
      return compare_floating<float>(output, got, floating);
    case DataType::f64:
      return compare_floating<double>(output, got, floating);
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

// The same bound relative to the larger of the element and the output's root mean square.
ExpectedValues with_fixed_bounds(const Tolerance& tolerance, const std::byte* bytes, std::size_t count) {
  const auto* values = reinterpret_cast<const double*>(bytes);
  ExpectedValues expected{{values, values + count}, {}};
  double squares = 0;
  for (const double value : expected.values) squares += value * value;
  const double scale = std::sqrt(squares / static_cast<double>(count));
  for (const double value : expected.values) {
    expected.bounds.push_back(tolerance.absolute + tolerance.relative * std::max(std::fabs(value), scale));
  }
  return expected;
}

bool has_integers(const TaskPack& pack) {
  return std::ranges::any_of(pack.outputs, [](const TensorSpec& output) { return !is_floating(output.dtype); });
}

// The first that is not finite, or -1.
std::ptrdiff_t first_infinite(const std::vector<double>& values) {
  double sum = 0;  // of zeros, unless something is not finite
  for (const double value : values) sum += 0 * value;
  if (sum == 0) return -1;
  return std::ranges::find_if(values, [](double value) { return !std::isfinite(value); }) - values.begin();
}

std::optional<std::string> infinite_part(const TensorSpec& output, const ExpectedValues& expected) {
  const auto text = [&](const char* what, std::ptrdiff_t at, double found) {
    return fmt::format("{}{}[{}] at {}: not finite, or not written", what, output.name, at, found);
  };
  if (const auto at = first_infinite(expected.values); at >= 0) {
    return text("output ", at, expected.values[static_cast<std::size_t>(at)]);
  }
  if (const auto at = first_infinite(expected.bounds); at >= 0) {
    return text("the rounding error of output ", at, expected.bounds[static_cast<std::size_t>(at)]);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> finish_expected(const OutputCheck& check, ExpectedOutputs& expected) {
  const TaskPack& pack = *check.pack;
  expected.floating.assign(pack.outputs.size(), {});
  for (std::size_t o = 0; o < pack.outputs.size(); ++o) {
    const DataType type = pack.outputs[o].dtype;
    if (!is_floating(type)) continue;
    const std::byte* from = expected.bytes.data() + check.reference_layout.buffers[o].offset;
    const std::size_t count = check.layout.buffers[o].bytes / size_of(type);
    expected.floating[o] = pack.tolerance.is_derived()
                               ? with_derived_bounds(type, pack.tolerance.standard_errors, from, count)
                               : with_fixed_bounds(pack.tolerance, from, count);
    if (auto fault = infinite_part(pack.outputs[o], expected.floating[o])) return fault;
  }
  if (!has_integers(pack)) expected.bytes = {};
  return std::nullopt;
}

std::size_t expected_size(const OutputCheck& check) {
  std::size_t size = has_integers(*check.pack) ? check.reference_layout.bytes : 0;
  for (std::size_t o = 0; o < check.pack->outputs.size(); ++o) {
    const DataType type = check.pack->outputs[o].dtype;
    if (is_floating(type)) size += check.layout.buffers[o].bytes / size_of(type) * 2 * sizeof(double);
  }
  return size;
}

std::optional<std::string> first_difference(const OutputCheck& check, const ExpectedOutputs& expected,
                                            std::span<const std::byte> outputs) {
  for (std::size_t o = 0; o < check.pack->outputs.size(); ++o) {
    const TensorSpec& output = check.pack->outputs[o];
    const BufferSpan& span = check.layout.buffers[o];
    const std::byte* wanted =
        expected.bytes.data() + (is_floating(output.dtype) ? 0 : check.reference_layout.buffers[o].offset);
    auto difference =
        compare(output, outputs.data() + span.offset, wanted, expected.floating[o], span.bytes / size_of(output.dtype));
    if (difference) return difference;
  }
  return std::nullopt;
}

}  // namespace kc
