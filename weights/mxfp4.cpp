#include "weights/mxfp4.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "weights/bfloat16.h"

namespace kc {
namespace {

constexpr std::array<float, 8> kMagnitudes = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};

// For each scale the sixteen products, in both types: 16 KiB and 8 KiB, both fit the first-level cache.
struct Tables {
  std::array<std::array<float, 16>, 256> single;
  std::array<std::array<std::uint16_t, 16>, 256> half;
};

Tables make_tables() {
  Tables t{};
  for (int scale = 0; scale < 256; ++scale) {
    for (int nibble = 0; nibble < 16; ++nibble) {
      const float magnitude = kMagnitudes[static_cast<std::size_t>(nibble & 7)];
      const float value = std::ldexp(nibble & 8 ? -magnitude : magnitude, scale - 127);
      t.single[static_cast<std::size_t>(scale)][static_cast<std::size_t>(nibble)] = value;
      t.half[static_cast<std::size_t>(scale)][static_cast<std::size_t>(nibble)] = bfloat16_of_float(value);
    }
  }
  return t;
}

const Tables& tables() {
  static const Tables instance = make_tables();
  return instance;
}

template <class T>
const std::array<T, 16>* table_of() {
  if constexpr (std::is_same_v<T, float>) {
    return tables().single.data();
  } else {
    return tables().half.data();
  }
}

template <class T>
inline void decode_block(const std::uint8_t* bytes, const T* table, T* out) {
  for (int b = 0; b < kMxfp4BlockBytes; ++b) {
    out[2 * b] = table[bytes[b] & 15];
    out[2 * b + 1] = table[bytes[b] >> 4];
  }
}

// All its products are finite in bfloat16; larger values saturate.
constexpr int kLargestSafeScale = 252;

std::uint8_t nearest_nibble(float value) {
  const float magnitude = std::fabs(value);
  std::uint8_t best = 0;
  for (std::uint8_t i = 1; i < 8; ++i)
    if (std::fabs(kMagnitudes[i] - magnitude) < std::fabs(kMagnitudes[best] - magnitude)) best = i;
  return static_cast<std::uint8_t>(best | (std::signbit(value) ? 8 : 0));
}

// The scale whose largest magnitude, 6 * 2^(s - 127), is the smallest not below `largest`.
int scale_for(float largest) {
  if (largest == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(largest) / 6, &exponent);  // in [0.5, 1)
  return std::clamp(127 + (fraction == 0.5 ? exponent - 1 : exponent), 0, kLargestSafeScale);
}

}  // namespace

Mxfp4Matrix mxfp4_expert(const std::uint8_t* blocks, const std::uint8_t* scales, std::int64_t expert, std::int64_t rows,
                         std::int64_t columns) {
  const std::int64_t count = rows * (columns / kMxfp4Block);
  return {blocks + expert * count * kMxfp4BlockBytes, scales + expert * count, rows, columns};
}

template <class T>
void decode_mxfp4_rows(const Mxfp4Matrix& matrix, std::int64_t from, std::int64_t to, T* out, std::int64_t stride) {
  const std::array<T, 16>* table = table_of<T>();
  const std::int64_t width = matrix.blocks_per_row();
  for (std::int64_t row = from; row < to; ++row) {
    const std::uint8_t* scales = matrix.scales + row * width;
    const std::uint8_t* blocks = matrix.blocks + row * width * kMxfp4BlockBytes;
    T* line = out + (row - from) * stride;
    for (std::int64_t i = 0; i < width; ++i)
      decode_block(blocks + i * kMxfp4BlockBytes, table[scales[i]].data(), line + i * kMxfp4Block);
  }
}

template <class T>
void decode_mxfp4_transposed(const Mxfp4Matrix& matrix, std::int64_t from, std::int64_t to, T* out,
                             std::int64_t stride) {
  // Tiles of whole cache lines: 64 rows of output, 4 blocks (64 bytes) of input. Columns outside, so that the pages
  // written to stay few.
  constexpr std::int64_t kTileRows = 64, kTileBlocks = 4;
  const std::int64_t width = matrix.blocks_per_row();
  const std::array<T, 16>* table = table_of<T>();
  T tile[kTileRows * kMxfp4Block];
  for (std::int64_t group = 0; group < width; group += kTileBlocks)
    for (std::int64_t first = from; first < to; first += kTileRows) {
      const std::int64_t rows = std::min(kTileRows, to - first);
      for (std::int64_t i = group; i < std::min(width, group + kTileBlocks); ++i) {
        for (std::int64_t r = 0; r < rows; ++r) {
          const std::int64_t block = (first + r) * width + i;
          decode_block(matrix.blocks + block * kMxfp4BlockBytes, table[matrix.scales[block]].data(),
                       tile + r * kMxfp4Block);
        }
        for (std::int64_t c = 0; c < kMxfp4Block; ++c) {
          T* line = out + (i * kMxfp4Block + c) * stride + (first - from);
          for (std::int64_t r = 0; r < rows; ++r) line[r] = tile[r * kMxfp4Block + c];
        }
      }
    }
}

template void decode_mxfp4_rows<float>(const Mxfp4Matrix&, std::int64_t, std::int64_t, float*, std::int64_t);
template void decode_mxfp4_rows<std::uint16_t>(const Mxfp4Matrix&, std::int64_t, std::int64_t, std::uint16_t*,
                                               std::int64_t);
template void decode_mxfp4_transposed<float>(const Mxfp4Matrix&, std::int64_t, std::int64_t, float*, std::int64_t);
template void decode_mxfp4_transposed<std::uint16_t>(const Mxfp4Matrix&, std::int64_t, std::int64_t, std::uint16_t*,
                                                     std::int64_t);

std::int64_t count_nonfinite_mxfp4(const Mxfp4Matrix& matrix) {
  std::int64_t count = 0;
  const std::int64_t blocks = matrix.rows * matrix.blocks_per_row();
  for (std::int64_t i = 0; i < blocks; ++i) {
    if (matrix.scales[i] <= kLargestSafeScale) continue;
    if (matrix.scales[i] == 255) {  // not a number in the format, whatever a decoder makes of it
      count += kMxfp4Block;
      continue;
    }
    std::uint16_t values[kMxfp4Block];
    decode_block(matrix.blocks + i * kMxfp4BlockBytes, tables().half[matrix.scales[i]].data(), values);
    count += std::count_if(values, values + kMxfp4Block, [](std::uint16_t v) { return !bfloat16_is_finite(v); });
  }
  return count;
}

void encode_mxfp4(const float* values, std::int64_t count, std::uint8_t* blocks, std::uint8_t* scales) {
  for (std::int64_t i = 0; i < count / kMxfp4Block; ++i) {
    const float* block = values + i * kMxfp4Block;
    float largest = 0;
    for (std::int64_t j = 0; j < kMxfp4Block; ++j) largest = std::max(largest, std::fabs(block[j]));
    const int scale = scale_for(largest);
    scales[i] = static_cast<std::uint8_t>(scale);
    for (std::int64_t b = 0; b < kMxfp4BlockBytes; ++b) {
      const std::uint8_t low = nearest_nibble(std::ldexp(block[2 * b], 127 - scale));
      const std::uint8_t high = nearest_nibble(std::ldexp(block[2 * b + 1], 127 - scale));
      blocks[i * kMxfp4BlockBytes + b] = static_cast<std::uint8_t>(low | high << 4);
    }
  }
}

}  // namespace kc
