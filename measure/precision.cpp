#include "measure/precision.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace kc {
namespace {

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
    const DataType type = check.pack->outputs[o].dtype;
    if (!is_floating(type)) {
      const std::byte* from = expected.bytes.data() + check.reference_layout.buffers[o].offset;
      std::copy(from, from + to.bytes, outputs.begin() + static_cast<std::ptrdiff_t>(to.offset));
      continue;
    }
    const std::vector<double>& values = expected.floating[o].values;
    for (std::size_t i = 0; i < values.size(); ++i) put(outputs.data() + to.offset, type, i, value(values[i], o));
  }
  return outputs;
}

}  // namespace

std::vector<LowPrecision> formats_below(std::span<const TensorSpec> tensors) {
  const auto has = [&](DataType type) {
    return std::ranges::any_of(tensors, [type](const TensorSpec& tensor) { return tensor.dtype == type; });
  };
  std::vector<LowPrecision> formats;
  if (has(DataType::f64)) formats.push_back(kFloatFormat);
  if (has(DataType::f64) || has(DataType::f32))
    formats.insert(formats.end(), std::begin(kHalfFormats), std::end(kHalfFormats));
  return formats;
}

double rounded_to(double value, int mantissa_bits) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // in [1/2, 1)
  return std::ldexp(std::nearbyint(std::ldexp(fraction, mantissa_bits + 1)), exponent - mantissa_bits - 1);
}

std::vector<std::byte> rounded_outputs(const OutputCheck& check, const ExpectedOutputs& expected,
                                       const LowPrecision& format) {
  return outputs_of(check, expected,
                    [&](double value, std::size_t) { return rounded_to(value, format.mantissa_bits); });
}

std::vector<std::byte> exact_outputs(const OutputCheck& check, const ExpectedOutputs& expected) {
  return outputs_of(check, expected, [](double value, std::size_t) { return value; });
}

std::vector<std::byte> mean_outputs(const OutputCheck& check, const ExpectedOutputs& expected) {
  std::vector<double> means(check.pack->outputs.size(), 0.0);
  for (std::size_t o = 0; o < means.size(); ++o) {
    if (!is_floating(check.pack->outputs[o].dtype)) continue;
    const std::vector<double>& values = expected.floating[o].values;
    for (const double value : values) means[o] += value / static_cast<double>(values.size());
  }
  return outputs_of(check, expected, [&](double, std::size_t o) { return means[o]; });
}

double share_of_tolerance(const OutputCheck& check, const ExpectedOutputs& expected,
                          std::span<const std::byte> outputs) {
  double share = 0;
  for (std::size_t o = 0; o < check.pack->outputs.size(); ++o) {
    const DataType type = check.pack->outputs[o].dtype;
    if (!is_floating(type)) continue;
    const std::byte* got = outputs.data() + check.layout.buffers[o].offset;
    const auto& [values, bounds] = expected.floating[o];
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double error = std::fabs(get(got, type, i) - values[i]);
      if (error > 0) share = std::max(share, error / bounds[i]);
    }
  }
  return share;
}

}  // namespace kc
