#include "measure/check.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace kc::test {
namespace {

using ::testing::HasSubstr;

// One f32 output `y` of four elements, expected {1, -2, 0, 1}: root mean square sqrt(1.5).
class CheckTest : public ::testing::Test {
 protected:
  CheckTest() {
    pack_.outputs = {{"y", DataType::f32, "4", "", {}, "", {}}, {"count", DataType::i32, "2", "", {}, "", {}}};
    pack_.tolerance = {0.01, 0.001, "test"};
    check_ = {&pack_, layout_of(pack_.outputs, case_), layout_of(reference_outputs(pack_), case_)};
    expected_.bytes.resize(check_.reference_layout.bytes);
    put<double>(expected_.bytes, check_.reference_layout, 0, {1, -2, 0, 1});
    put<std::int32_t>(expected_.bytes, check_.reference_layout, 1, {7, 8});
    EXPECT_EQ(finish_expected(check_, expected_), std::nullopt);
    outputs_.resize(check_.layout.bytes);
    put<float>(outputs_, check_.layout, 0, {1, -2, 0, 1});
    put<std::int32_t>(outputs_, check_.layout, 1, {7, 8});
  }

  template <class T>
  static void put(std::vector<std::byte>& bytes, const SetLayout& layout, std::size_t buffer,
                  const std::vector<T>& values) {
    std::memcpy(bytes.data() + layout.buffers[buffer].offset, values.data(), values.size() * sizeof(T));
  }

  std::optional<std::string> difference() { return first_difference(check_, expected_, outputs_); }

  TaskPack pack_;
  CaseSpec case_{"case", {}};
  OutputCheck check_;
  ExpectedOutputs expected_;
  std::vector<std::byte> outputs_;
};

TEST_F(CheckTest, AcceptsWhatLiesWithinTheTolerance) {
  EXPECT_EQ(difference(), std::nullopt);
  const double allowed_at_zero = 0.001 + 0.01 * std::sqrt(1.5);
  put<float>(outputs_, check_.layout, 0, {1, -2, static_cast<float>(0.99 * allowed_at_zero), 1});
  EXPECT_EQ(difference(), std::nullopt);
}

TEST_F(CheckTest, RefusesWhatLiesBeyondAndSaysWhere) {
  const double allowed_at_zero = 0.001 + 0.01 * std::sqrt(1.5);
  put<float>(outputs_, check_.layout, 0, {1, -2, static_cast<float>(1.01 * allowed_at_zero), 1});
  EXPECT_THAT(difference().value_or(""), HasSubstr("y[2]"));
}

TEST_F(CheckTest, RefusesNotANumberAndInfinity) {
  put<float>(outputs_, check_.layout, 0, {std::nanf(""), -2, 0, 1});
  EXPECT_THAT(difference().value_or(""), HasSubstr("y[0]"));
  put<float>(outputs_, check_.layout, 0, {1, -std::numeric_limits<float>::infinity(), 0, 1});
  EXPECT_THAT(difference().value_or(""), HasSubstr("y[1]"));
}

TEST_F(CheckTest, WantsIntegersExactly) {
  put<std::int32_t>(outputs_, check_.layout, 1, {7, 9});
  EXPECT_THAT(difference().value_or(""), HasSubstr("count[1] is 9; expected 8"));
}

TEST_F(CheckTest, NamesAnOutputOfTheReferenceThatIsNotFinite) {
  put<double>(expected_.bytes, check_.reference_layout, 0, {1, std::nan(""), 0, 1});
  EXPECT_THAT(finish_expected(check_, expected_).value_or(""), HasSubstr("output y[1] at nan"));
}

TEST_F(CheckTest, FindsEveryByteOfTheGuardsAndNoByteOfTheBuffers) {
  std::vector<std::byte> bytes(check_.layout.bytes);
  fill_pattern(bytes, 99);
  EXPECT_EQ(first_broken_guard(check_.layout, bytes, 99), -1);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] ^= std::byte{1};
    const bool inside = std::any_of(check_.layout.buffers.begin(), check_.layout.buffers.end(),
                                    [&](const BufferSpan& b) { return at >= b.offset && at < b.offset + b.bytes; });
    EXPECT_EQ(first_broken_guard(check_.layout, bytes, 99), inside ? -1 : static_cast<std::ptrdiff_t>(at));
    bytes[at] ^= std::byte{1};
  }
}

TEST_F(CheckTest, PlacesBuffersAtAlignedOffsetsWithGuardsAround) {
  for (const BufferSpan& buffer : check_.layout.buffers) EXPECT_EQ(buffer.offset % 64, 0);
  EXPECT_GE(check_.layout.buffers[0].offset, kGuardBytes);
  EXPECT_GE(check_.layout.buffers[1].offset, check_.layout.buffers[0].offset + 16 + kGuardBytes);
}

}  // namespace
}  // namespace kc::test
