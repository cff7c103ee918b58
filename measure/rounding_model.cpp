#include "measure/rounding_model.h"

#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "measure/reference/rounded_number.h"
#include "measure/reference_text.h"

namespace kc {
namespace {

using OfFloats = RoundedNumber<double>;
using OfDoubles = RoundedNumber<long double>;

template <class Number, class Output>
ExpectedValues bounds_of(double standard_errors, const std::byte* from, std::size_t count) {
  const auto* numbers = reinterpret_cast<const Number*>(from);
  ExpectedValues expected;
  expected.values.resize(count);
  expected.bounds.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(numbers[i].value);
    expected.values[i] = value;
    const auto variance = numbers[i].variance();
    if (variance == 0 && static_cast<double>(static_cast<Output>(value)) == value) continue;
    expected.bounds[i] = standard_errors * static_cast<double>(std::sqrt(variance)) +
                         static_cast<double>(Number::kRoundoff) * std::fabs(value) +
                         static_cast<double>(std::numeric_limits<Output>::min());
  }
  return expected;
}

}  // namespace

DataType computing_type(const TaskPack& pack) {
  std::optional<DataType> type;
  for (const TensorSpec& output : pack.outputs) {
    if (!is_floating(output.dtype)) continue;
    if (type && *type != output.dtype) {
      throw Error(ErrorKind::bad_data,
                  "standard_errors: the floating outputs have different types; give relative and "
                  "absolute, or make two tasks");
    }
    type = output.dtype;
  }
  if (type) return *type;
  throw Error(ErrorKind::bad_data, "standard_errors: no output is floating; integers must be equal anyway");
}

std::size_t size_of_rounded(DataType type) { return type == DataType::f64 ? sizeof(OfDoubles) : sizeof(OfFloats); }

std::string rounded_number_prelude(const TaskPack& pack) {
  const bool wide = computing_type(pack) == DataType::f64;
  return std::string(rounded_number_text()) + "using real = kc::RoundedNumber<" + (wide ? "long double" : "double") +
         ">;\n";
}

ExpectedValues with_derived_bounds(DataType type, double standard_errors, const std::byte* from, std::size_t count) {
  if (type == DataType::f64) return bounds_of<OfDoubles, double>(standard_errors, from, count);
  return bounds_of<OfFloats, float>(standard_errors, from, count);
}

}  // namespace kc
