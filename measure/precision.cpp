#include "measure/precision.h"

#include <algorithm>
#include <cmath>

namespace kc {
namespace {

double rounded(double value, int mantissa_bits) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // in [1/2, 1)
  return std::ldexp(std::nearbyint(std::ldexp(fraction, mantissa_bits + 1)), exponent - mantissa_bits - 1);
}

void put(std::byte* to, DataType type, std::size_t index, double value) {
  switch (type) {
    case DataType::f32:
      reinterpret_cast<float*>(to)[index] = static_cast<float>(value);
      break;
    case DataType::f64:
      reinterpret_cast<double*>(to)[index] = value;
      break;
    default:
      break;
  }
}

double get(const std::byte* from, DataType type, std::size_t index) {
  return type == DataType::f32 ? double{reinterpret_cast<const float*>(from)[index]}
                               : reinterpret_cast<const double*>(from)[index];
}

// Applies `value(expected, output)` to each floating element; integers are as expected.
template <class Value>
std::vector<std::byte> outputs_of(const OutputCheck& check, const ExpectedOutputs& expected, const Value& value) {
  std::vector<std::byte> outputs(check.layout.bytes);
  for (std::size_t o = 0; o < check.pack->outputs.size(); ++o) {
    const BufferSpan& to = check.layout.buffers[o];
    const std::byte* from = expected.bytes.data() + check.reference_layout.buffers[o].offset;
    const DataType type = check.pack->outputs[o].dtype;
    if (!is_floating(type)) {
      std::copy(from, from + to.bytes, outputs.begin() + static_cast<std::ptrdiff_t>(to.offset));
      continue;
    }
    const auto* values = reinterpret_cast<const double*>(from);
    for (std::size_t i = 0; i < to.bytes / size_of(type); ++i) {
      put(outputs.data() + to.offset, type, i, value(values[i], o));
    }
  }
  return outputs;
}

}  // namespace

std::vector<std::byte> rounded_outputs(const OutputCheck& check, const ExpectedOutputs& expected,
                                       const LowPrecision& format) {
  return outputs_of(check, expected, [&](double value, std::size_t) { return rounded(value, format.mantissa_bits); });
}

std::vector<std::byte> mean_outputs(const OutputCheck& check, const ExpectedOutputs& expected) {
  std::vector<double> means(check.pack->outputs.size(), 0.0);
  for (std::size_t o = 0; o < means.size(); ++o) {
    if (!is_floating(check.pack->outputs[o].dtype)) continue;
    const BufferSpan& span = check.reference_layout.buffers[o];
    const auto* values = reinterpret_cast<const double*>(expected.bytes.data() + span.offset);
    const std::size_t count = span.bytes / sizeof(double);
    for (std::size_t i = 0; i < count; ++i) means[o] += values[i] / static_cast<double>(count);
  }
  return outputs_of(check, expected, [&](double, std::size_t o) { return means[o]; });
}

double share_of_tolerance(const OutputCheck& check, const ExpectedOutputs& expected,
                          std::span<const std::byte> outputs) {
  const Tolerance& tolerance = check.pack->tolerance;
  double share = 0;
  for (std::size_t o = 0; o < check.pack->outputs.size(); ++o) {
    const DataType type = check.pack->outputs[o].dtype;
    if (!is_floating(type)) continue;
    const BufferSpan& span = check.layout.buffers[o];
    const auto* values =
        reinterpret_cast<const double*>(expected.bytes.data() + check.reference_layout.buffers[o].offset);
    for (std::size_t i = 0; i < span.bytes / size_of(type); ++i) {
      const double error = std::fabs(get(outputs.data() + span.offset, type, i) - values[i]);
      const double bound = tolerance.absolute + tolerance.relative * std::max(std::fabs(values[i]), expected.scales[o]);
      share = std::max(share, error / bound);
    }
  }
  return share;
}

}  // namespace kc
