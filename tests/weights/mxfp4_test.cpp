#include "weights/mxfp4.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/hash.h"
#include "base/rng.h"
#include "weights/bfloat16.h"

namespace kc {
namespace {

constexpr float kTable[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};

// One row for each scale, which holds every byte once: [256, 512].
struct EveryByteAndScale {
  std::vector<std::uint8_t> blocks, scales;
  EveryByteAndScale() {
    for (int scale = 0; scale < 256; ++scale) {
      scales.insert(scales.end(), 16, static_cast<std::uint8_t>(scale));
      for (int byte = 0; byte < 256; ++byte) blocks.push_back(static_cast<std::uint8_t>(byte));
    }
  }
  Mxfp4Matrix matrix() const { return {blocks.data(), scales.data(), 256, 512}; }
};

TEST(Mxfp4, DecodesTheSpecificationsExample) {
  std::vector<std::uint8_t> block(16, 0x21);
  const std::uint8_t scale = 128;
  float out[32];
  decode_mxfp4_rows(Mxfp4Matrix{block.data(), &scale, 1, 32}, 0, 1, out, 32);
  EXPECT_EQ(out[0], 1.0F);
  EXPECT_EQ(out[1], 2.0F);
  std::uint16_t half[32];
  decode_mxfp4_rows(Mxfp4Matrix{block.data(), &scale, 1, 32}, 0, 1, half, 32);
  EXPECT_EQ(half[0], 0x3F80);
  EXPECT_EQ(half[31], 0x4000);
}

TEST(Mxfp4, EveryByteWithEveryScaleIsExact) {
  const EveryByteAndScale all;
  std::vector<float> single(256 * 512);
  std::vector<std::uint16_t> half(256 * 512);
  decode_mxfp4_rows(all.matrix(), 0, 256, single.data(), 512);
  decode_mxfp4_rows(all.matrix(), 0, 256, half.data(), 512);
  std::int64_t finite = 0;
  for (int scale = 0; scale < 256; ++scale)
    for (int i = 0; i < 512; ++i) {
      const int nibble = i % 2 == 0 ? (i / 2) & 15 : i / 2 >> 4;
      const double wanted = std::ldexp(static_cast<double>(kTable[nibble]), scale - 127);
      const float got = single[static_cast<std::size_t>(scale) * 512 + static_cast<std::size_t>(i)];
      const float got_half =
          float_of_bfloat16(half[static_cast<std::size_t>(scale) * 512 + static_cast<std::size_t>(i)]);
      if (std::fabs(wanted) > 3.3895313892515355e38) {  // the largest bfloat16
        EXPECT_FALSE(std::isfinite(got_half));
        continue;
      }
      ++finite;
      ASSERT_EQ(got, wanted) << scale << " " << i;
      ASSERT_EQ(got_half, wanted) << scale << " " << i;
      ASSERT_EQ(std::signbit(got_half), std::signbit(wanted)) << scale << " " << i;
    }
  // Too large: 4 and 6 of scale 253; 2, 3, 4 and 6 of 254; of 255 all but 0 and 0.5, but that scale is no number.
  EXPECT_EQ(finite, 256 * 512 - 384 - 256 - 128);
  EXPECT_EQ(count_nonfinite_mxfp4(all.matrix()), 512 + 256 + 128);
}

// What transformers 5.24 decodes from these blocks (tests/golden/checkpoint_parity.py decode), scales 0 to 252.
TEST(Mxfp4, AgreesWithTransformersStoredValues) {
  const EveryByteAndScale all;
  std::vector<std::uint16_t> half(253 * 512);
  decode_mxfp4_rows(all.matrix(), 0, 253, half.data(), 512);
  EXPECT_EQ(sha256_hex({reinterpret_cast<const char*>(half.data()), 2 * half.size()}),
            "ae27da422fb31804d4aed93aedefc83871398e3d0390e69711b1954068b4992a");
  std::vector<float> single(253 * 512);
  decode_mxfp4_rows(all.matrix(), 0, 253, single.data(), 512);
  EXPECT_EQ(sha256_hex({reinterpret_cast<const char*>(single.data()), 4 * single.size()}),
            "32b4ed5a3054987f37829955fe87e7e53a63df1600961e7a9a309c39a83bc9af");
}

TEST(Mxfp4, BothOrientationsHoldTheSameNumbers) {
  RngStream rng(3);
  const std::int64_t rows = 70, columns = 96;
  std::vector<std::uint8_t> blocks(static_cast<std::size_t>(2 * rows * columns / 2)), scales(2 * 70 * 3);
  for (auto& b : blocks) b = static_cast<std::uint8_t>(rng.below(256));
  for (auto& s : scales) s = static_cast<std::uint8_t>(120 + rng.below(10));
  const Mxfp4Matrix second = mxfp4_expert(blocks.data(), scales.data(), 1, rows, columns);
  EXPECT_EQ(second.blocks, blocks.data() + rows * columns / 2);
  EXPECT_EQ(second.scales, scales.data() + rows * 3);
  std::vector<float> plain(70 * 96);
  decode_mxfp4_rows(second, 0, rows, plain.data(), columns);
  const std::int64_t from = 5, to = 69, stride = 66;
  std::vector<float> turned(static_cast<std::size_t>(columns * stride), -99);
  decode_mxfp4_transposed(second, from, to, turned.data(), stride);
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = from; r < to; ++r)
      ASSERT_EQ(turned[static_cast<std::size_t>(c * stride + r - from)],
                plain[static_cast<std::size_t>(r * columns + c)]);
    EXPECT_EQ(turned[static_cast<std::size_t>(c * stride + 64)], -99) << "wrote past its rows";
  }
}

TEST(Mxfp4, EncodingKeepsWhatItCanHold) {
  RngStream rng(5);
  std::vector<float> values;
  for (int i = 0; i < 64 * 32; ++i) values.push_back(std::ldexp(kTable[rng.below(16)], static_cast<int>(i / 32) - 30));
  std::vector<std::uint8_t> blocks(64 * 16), scales(64);
  encode_mxfp4(values.data(), 64 * 32, blocks.data(), scales.data());
  std::vector<float> back(64 * 32);
  decode_mxfp4_rows(Mxfp4Matrix{blocks.data(), scales.data(), 64, 32}, 0, 64, back.data(), 32);
  EXPECT_EQ(back, values);
}

TEST(Mxfp4, EncodingRoundsToTheNearestAndNeverOverflows) {
  std::vector<float> values(32, 0);
  values[0] = 7;      // 7 / 6 needs exponent 1: scale 128, so 7 becomes 3.5 and rounds to 3
  values[1] = -5.2F;  // -2.6: -3
  values[2] = 0.4F;   // 0.2: 0
  std::vector<std::uint8_t> blocks(16), scales(1);
  encode_mxfp4(values.data(), 32, blocks.data(), scales.data());
  EXPECT_EQ(scales[0], 128);
  float back[32];
  decode_mxfp4_rows(Mxfp4Matrix{blocks.data(), scales.data(), 1, 32}, 0, 1, back, 32);
  EXPECT_EQ(back[0], 6);
  EXPECT_EQ(back[1], -6);
  EXPECT_EQ(back[2], 0);
  values.assign(32, std::numeric_limits<float>::max());
  encode_mxfp4(values.data(), 32, blocks.data(), scales.data());
  EXPECT_EQ(count_nonfinite_mxfp4({blocks.data(), scales.data(), 1, 32}), 0);
}

TEST(Bfloat16, RoundsToNearestEven) {
  EXPECT_EQ(bfloat16_of_float(1.0F), 0x3F80);
  EXPECT_EQ(bfloat16_of_float(1.00390625F), 0x3F80);  // half a step above 1: to even
  EXPECT_EQ(bfloat16_of_float(1.01171875F), 0x3F82);  // half a step above an odd one
  EXPECT_EQ(bfloat16_of_float(std::numeric_limits<float>::infinity()), 0x7F80);
  EXPECT_FALSE(bfloat16_is_finite(bfloat16_of_float(std::numeric_limits<float>::max())));
  EXPECT_TRUE(std::isnan(float_of_bfloat16(bfloat16_of_float(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_EQ(float_of_bfloat16(0xC0E0), -7.0F);
}

}  // namespace
}  // namespace kc
