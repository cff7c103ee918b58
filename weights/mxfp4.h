#pragma once
// MXFP4 (OCP Microscaling): blocks of 32 values along a matrix's input axis share one scale. Byte b of a block holds
// value 2b in its low nibble and 2b + 1 in its high nibble; a nibble is E2M1 (sign, then 0 .5 1 1.5 2 3 4 6), a scale s
// is E8M0, 2^(s - 127). Every product that is finite in bfloat16 is exact there and in float32, so decoding rounds
// nothing. gpt-oss.md section 3.2.
#include <cstdint>

namespace kc {

inline constexpr std::int64_t kMxfp4Block = 32;       // values of a block
inline constexpr std::int64_t kMxfp4BlockBytes = 16;  // without its scale

// [rows = out, columns = in] as stored: blocks [rows, columns / 32, 16] and scales [rows, columns / 32], both u8 and
// contiguous. Does not own its memory. Precondition of every function here: columns is a multiple of 32.
struct Mxfp4Matrix {
  const std::uint8_t* blocks = nullptr;
  const std::uint8_t* scales = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  std::int64_t blocks_per_row() const { return columns / kMxfp4Block; }
};

// The matrix of one expert out of [E, rows, columns / 32, 16] and [E, rows, columns / 32].
Mxfp4Matrix mxfp4_expert(const std::uint8_t* blocks, const std::uint8_t* scales, std::int64_t expert, std::int64_t rows,
                         std::int64_t columns);

// Rows [from, to) as out[(row - from) * stride + column]: the layout of torch's linear ([out, in]). T is float, or
// std::uint16_t for the bits of bfloat16; stride in elements, >= columns. Products that are too large give infinities,
// and scale 255, NaN in the format, counts as 2^128, as in transformers' decoder; `checkpoint verify` reports both.
// Reentrant.
template <class T>
void decode_mxfp4_rows(const Mxfp4Matrix& matrix, std::int64_t from, std::int64_t to, T* out, std::int64_t stride);

// Rows [from, to) as out[column * stride + (row - from)]: the layout of transformers' save_pretrained ([in, out]).
// stride >= to - from.
template <class T>
void decode_mxfp4_transposed(const Mxfp4Matrix& matrix, std::int64_t from, std::int64_t to, T* out,
                             std::int64_t stride);

extern template void decode_mxfp4_rows<float>(const Mxfp4Matrix&, std::int64_t, std::int64_t, float*, std::int64_t);
extern template void decode_mxfp4_rows<std::uint16_t>(const Mxfp4Matrix&, std::int64_t, std::int64_t, std::uint16_t*,
                                                      std::int64_t);
extern template void decode_mxfp4_transposed<float>(const Mxfp4Matrix&, std::int64_t, std::int64_t, float*,
                                                    std::int64_t);
extern template void decode_mxfp4_transposed<std::uint16_t>(const Mxfp4Matrix&, std::int64_t, std::int64_t,
                                                            std::uint16_t*, std::int64_t);

// Values of the matrix that are not finite in bfloat16: products of scales 253 and 254 that are too large, and all of
// scale 255.
std::int64_t count_nonfinite_mxfp4(const Mxfp4Matrix& matrix);

// Encodes `count` floats (a multiple of 32) block by block: exponent ceil(log2(largest magnitude / 6)), each value
// divided by it and rounded to the nearest of the sixteen (ties to the smaller magnitude). Values that MXFP4 holds
// come back exactly. Precondition: all finite.
void encode_mxfp4(const float* values, std::int64_t count, std::uint8_t* blocks, std::uint8_t* scales);

}  // namespace kc
