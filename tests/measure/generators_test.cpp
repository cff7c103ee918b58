#include "measure/generators.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

CaseSpec some_case() { return {"case", {{"N", 10000}, {"R", 1000}, {"Z", 9000}}}; }

TensorSpec tensor_of(DataType type, const std::string& shape, const std::string& kind,
                     const std::map<std::string, std::string>& options = {}) {
  return {"x", type, shape, kind, options, "", {}};
}

template <class T>
std::vector<T> drawn(const TensorSpec& tensor, std::uint64_t seed = 1) {
  check_generator(tensor, some_case());
  std::vector<T> values(static_cast<std::size_t>(elements_of(tensor, some_case())));
  RngStream rng(seed);
  generate(tensor, some_case(), rng, std::as_writable_bytes(std::span(values)));
  return values;
}

TEST(Generators, NormalHasTheMeanAndDeviationAskedFor) {
  const auto values = drawn<float>(tensor_of(DataType::f32, "N", "normal", {{"mean", "3"}, {"deviation", "2"}}));
  double sum = 0, squares = 0;
  for (const float v : values) sum += v, squares += (v - 3.0) * (v - 3.0);
  EXPECT_NEAR(sum / 1e4, 3, 0.1);
  EXPECT_NEAR(std::sqrt(squares / 1e4), 2, 0.1);
}

TEST(Generators, UniformStaysInItsRange) {
  const auto values = drawn<double>(tensor_of(DataType::f64, "N", "uniform", {{"low", "-1"}, {"high", "5"}}));
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*low, -1);
  EXPECT_LT(*low, -0.99);
  EXPECT_LT(*high, 5);
  EXPECT_GT(*high, 4.99);
}

TEST(Generators, WideSpreadsOverTheOctavesAskedFor) {
  const auto values = drawn<float>(tensor_of(DataType::f32, "N", "wide", {{"octaves", "20"}}));
  const auto share = [&](double low, double high) {
    return static_cast<double>(std::ranges::count_if(
               values, [&](float v) { return std::fabs(v) >= std::exp2(low) && std::fabs(v) < std::exp2(high); })) /
           1e4;
  };
  for (double octave = -16; octave < 16; octave += 8) EXPECT_NEAR(share(octave, octave + 8), 8.0 / 40, 0.03) << octave;
  EXPECT_LT(share(22, 200), 0.02);
}

TEST(Generators, CancellingPairsLeaveWhatHalfPrecisionWouldLose) {
  const auto values = drawn<float>(tensor_of(DataType::f32, "N", "cancelling", {{"octaves", "8"}}));
  double rest = 0;
  for (std::size_t i = 0; i < values.size(); i += 2) {
    EXPECT_LE(std::fabs(values[i] + values[i + 1]), 6 * 0x1p-12 * std::fabs(values[i])) << i;
    rest = std::max(rest, std::fabs(double{values[i]} + values[i + 1]) / std::fabs(values[i]));
  }
  EXPECT_GT(rest, 0x1p-12);
}

TEST(Generators, RefuseOctavesOfIntegersAndMoreThanATypeHolds) {
  const auto check = [](DataType type, const std::string& octaves) {
    check_generator(tensor_of(type, "N", "wide", {{"octaves", octaves}}), some_case());
  };
  EXPECT_ERROR(check(DataType::i32, "4"), ErrorKind::bad_data, ::testing::HasSubstr("needs a floating type"));
  EXPECT_ERROR(check(DataType::f32, "101"), ErrorKind::bad_data, ::testing::HasSubstr("got 101"));
  EXPECT_NO_THROW(check(DataType::f32, "100"));
}

TEST(Generators, IntegersReachBothEnds) {
  const auto values =
      drawn<std::int32_t>(tensor_of(DataType::i32, "N", "integers", {{"low", "-2"}, {"high", "N - 9997"}}));
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  EXPECT_EQ(*low, -2);
  EXPECT_EQ(*high, 3);
}

TEST(Generators, RowOffsetsAscendFromZeroToTheNonzerosWithUnevenRows) {
  const auto offsets =
      drawn<std::int32_t>(tensor_of(DataType::i32, "R + 1", "csr_offsets", {{"rows", "R"}, {"nonzeros", "Z"}}));
  EXPECT_EQ(offsets.front(), 0);
  EXPECT_EQ(offsets.back(), 9000);
  EXPECT_TRUE(std::is_sorted(offsets.begin(), offsets.end()));
  std::vector<int> lengths(1000);
  for (std::size_t r = 0; r < 1000; ++r) lengths[r] = offsets[r + 1] - offsets[r];
  const auto [shortest, longest] = std::minmax_element(lengths.begin(), lengths.end());
  EXPECT_LT(*shortest, 2);
  EXPECT_GT(*longest, 18);
}

TEST(Generators, ColumnsStayBelowTheirNumber) {
  const auto columns = drawn<std::int32_t>(tensor_of(DataType::i32, "Z", "csr_columns", {{"columns", "R"}}));
  EXPECT_GE(*std::min_element(columns.begin(), columns.end()), 0);
  EXPECT_EQ(*std::max_element(columns.begin(), columns.end()), 999);
}

TEST(Generators, PermutationHoldsEveryIndexOnceAndIsMixed) {
  auto order = drawn<std::int32_t>(tensor_of(DataType::i32, "R", "permutation"));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(Generators, RepeatForOneSeedAndDifferForAnother) {
  const TensorSpec tensor = tensor_of(DataType::f32, "N", "normal");
  EXPECT_EQ(drawn<float>(tensor, 5), drawn<float>(tensor, 5));
  EXPECT_NE(drawn<float>(tensor, 5), drawn<float>(tensor, 6));
}

}  // namespace
}  // namespace kc::test
