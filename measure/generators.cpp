#include "measure/generators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "measure/expression.h"

namespace kc {
namespace {

struct Kind {
  const char* name;
  std::vector<std::string> options;
  bool options_required;
  bool integers_only;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kinds = {{"normal", {"mean", "deviation"}, false, false},
                                          {"uniform", {"low", "high"}, false, false},
                                          {"wide", {"octaves"}, true, false},
                                          {"cancelling", {"octaves"}, true, false},
                                          {"integers", {"low", "high"}, true, false},
                                          {"csr_offsets", {"rows", "nonzeros"}, true, true},
                                          {"csr_columns", {"columns"}, true, true},
                                          {"permutation", {}, true, true}};
  return kinds;
}

const Kind& kind_of(const TensorSpec& tensor) {
  for (const Kind& kind : kinds()) {
    if (tensor.generator == kind.name) return kind;
  }
  throw Error(ErrorKind::bad_data,
              fmt::format("input {}: unknown generator '{}'; expected normal, uniform, wide, cancelling, integers, "
                          "csr_offsets, csr_columns or permutation",
                          tensor.name, tensor.generator));
}

// Millions of values are drawn per session; SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), keyed by one draw of the
// stream, is several times faster than the counter-based stream itself.
class Bulk {
 public:
  explicit Bulk(RngStream& rng) : state_(rng.next_u64()) {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
  std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;  // multiply-shift: a bias of bound / 2^64 does not matter here
    return static_cast<std::uint64_t>(Wide{bits()} * bound >> 64);
  }
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    const double angle = 2.0 * std::numbers::pi * uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

 private:
  std::uint64_t state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

double option(const TensorSpec& tensor, const CaseSpec& input_case, const char* key, double fallback) {
  const auto found = tensor.options.find(key);
  return found == tensor.options.end() ? fallback : evaluate(found->second, to_variables(input_case.sizes));
}

template <class T, class F>
void fill(std::span<std::byte> bytes, const F& draw) {
  auto* values = reinterpret_cast<T*>(bytes.data());
  const std::size_t count = bytes.size() / sizeof(T);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(draw());
}

template <class F>
void fill_as(DataType type, std::span<std::byte> bytes, const F& draw) {
  switch (type) {
    case DataType::f32:
      return fill<float>(bytes, draw);
    case DataType::f64:
      return fill<double>(bytes, draw);
    case DataType::i32:
      return fill<std::int32_t>(bytes, draw);
    case DataType::i64:
      return fill<std::int64_t>(bytes, draw);
    case DataType::u8:
      return fill<std::uint8_t>(bytes, draw);
    case DataType::u32:
      return fill<std::uint32_t>(bytes, draw);
  }
}

// Row lengths in proportion to squared uniforms: some rows are empty, some several times the mean.
std::vector<std::int64_t> csr_offsets(std::int64_t rows, std::int64_t nonzeros, Bulk& bulk) {
  std::vector<double> cumulated(static_cast<std::size_t>(rows) + 1, 0.0);
  for (std::size_t r = 1; r < cumulated.size(); ++r) {
    const double u = bulk.uniform();
    cumulated[r] = cumulated[r - 1] + u * u;
  }
  std::vector<std::int64_t> offsets(cumulated.size(), 0);
  const double scale = static_cast<double>(nonzeros) / std::max(cumulated.back(), 1e-300);
  for (std::size_t r = 1; r < offsets.size(); ++r) offsets[r] = std::llround(cumulated[r] * scale);
  offsets.back() = nonzeros;
  return offsets;
}

std::vector<std::int64_t> permutation(std::size_t count, Bulk& bulk) {
  std::vector<std::int64_t> order(count);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[bulk.below(i)]);
  return order;
}

void fill_from(DataType type, std::span<std::byte> bytes, const std::vector<std::int64_t>& values) {
  std::size_t next = 0;
  fill_as(type, bytes, [&] { return values[next++]; });
}

constexpr double kRemainder = 0x1p-12;  // of a pair that cancels: about what half precision keeps

double wide(double octaves, Bulk& bulk) { return bulk.normal() * std::exp2(octaves * (2 * bulk.uniform() - 1)); }

void check_octaves(const TensorSpec& tensor, const CaseSpec& input_case) {
  if (tensor.generator != "wide" && tensor.generator != "cancelling") return;
  const double octaves = option(tensor, input_case, "octaves", 0);
  if (is_floating(tensor.dtype) && octaves >= 0 && octaves <= 100) return;
  throw Error(ErrorKind::bad_data,
              fmt::format("input {}: generator {} needs a floating type and 0 to 100 octaves, got {}", tensor.name,
                          tensor.generator, octaves));
}

void check_range(const TensorSpec& tensor, const CaseSpec& input_case) {
  const bool integers = tensor.generator == "integers";
  if (!integers && tensor.generator != "uniform") return;
  const double low = option(tensor, input_case, "low", 0);
  const double high = option(tensor, input_case, "high", 1);
  if (low > high || (integers && (low != std::floor(low) || high != std::floor(high)))) {
    throw Error(ErrorKind::bad_data,
                fmt::format("input {}: the range from {} to {} is empty or not of integers", tensor.name, low, high));
  }
}

}  // namespace

void check_generator(const TensorSpec& tensor, const CaseSpec& input_case) {
  const Kind& kind = kind_of(tensor);
  for (const auto& [key, value] : tensor.options) {
    if (std::find(kind.options.begin(), kind.options.end(), key) == kind.options.end()) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("input {}: generator {} has no option '{}'", tensor.name, kind.name, key));
    }
  }
  for (const std::string& key : kind.options) {
    if (kind.options_required && !tensor.options.contains(key)) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("input {}: generator {} needs the option '{}'", tensor.name, kind.name, key));
    }
  }
  if (kind.integers_only && is_floating(tensor.dtype)) {
    throw Error(ErrorKind::bad_data,
                fmt::format("input {}: generator {} needs an integer type", tensor.name, kind.name));
  }
  check_range(tensor, input_case);
  check_octaves(tensor, input_case);
  if (tensor.generator != "csr_offsets") return;
  const auto rows = static_cast<std::int64_t>(option(tensor, input_case, "rows", 0));
  if (elements_of(tensor, input_case) != rows + 1) {
    throw Error(ErrorKind::bad_data, fmt::format("input {}: csr_offsets needs rows + 1 elements", tensor.name));
  }
}

TensorSpec hard_input(TensorSpec tensor) {
  if (tensor.check_generator.empty()) return tensor;
  tensor.generator = tensor.check_generator;
  tensor.options = tensor.check_options;
  return tensor;
}

void generate(const TensorSpec& tensor, const CaseSpec& input_case, RngStream& rng, std::span<std::byte> bytes) {
  Bulk bulk(rng);
  const auto of = [&](const char* key, double fallback) { return option(tensor, input_case, key, fallback); };
  const auto whole = [&](const char* key) { return static_cast<std::int64_t>(of(key, 0)); };
  const std::string& kind = tensor.generator;
  if (kind == "normal") {
    const double mean = of("mean", 0);
    const double deviation = of("deviation", 1);
    fill_as(tensor.dtype, bytes, [&] { return mean + deviation * bulk.normal(); });
  } else if (kind == "uniform") {
    const double low = of("low", 0);
    const double width = of("high", 1) - low;
    fill_as(tensor.dtype, bytes, [&] { return low + width * bulk.uniform(); });
  } else if (kind == "wide") {
    const double octaves = of("octaves", 0);
    fill_as(tensor.dtype, bytes, [&] { return wide(octaves, bulk); });
  } else if (kind == "cancelling") {
    const double octaves = of("octaves", 0);
    double last = 0;
    fill_as(tensor.dtype, bytes, [&] {
      const bool is_second = last != 0;
      const double value = is_second ? -last * (1 + kRemainder * bulk.normal()) : wide(octaves, bulk);
      last = is_second ? 0 : value;
      return value;
    });
  } else if (kind == "integers") {
    const std::int64_t low = whole("low");
    const auto span = static_cast<std::uint64_t>(whole("high") - low) + 1;
    fill_as(tensor.dtype, bytes, [&] { return low + static_cast<std::int64_t>(bulk.below(span)); });
  } else if (kind == "csr_columns") {
    const auto columns = static_cast<std::uint64_t>(whole("columns"));
    fill_as(tensor.dtype, bytes, [&] { return bulk.below(columns); });
  } else if (kind == "csr_offsets") {
    fill_from(tensor.dtype, bytes, csr_offsets(whole("rows"), whole("nonzeros"), bulk));
  } else if (kind == "permutation") {
    fill_from(tensor.dtype, bytes, permutation(bytes.size() / size_of(tensor.dtype), bulk));
  }
}

}  // namespace kc
