#include <array>
#include <type_traits>

#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ldexp.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include "model/fused_torch.h"
#include "model/layers_torch.h"
#include "model/parallel.h"
#include "weights/mxfp4.h"

namespace kc {
namespace {

constexpr std::array<float, 16> kE2m1 = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};
constexpr std::int64_t kColumns = 64;  // output columns of one task

// The type that weights/mxfp4.h writes: bits of bfloat16, or float.
template <class T>
using DecodedType = std::conditional_t<std::is_same_v<T, Bf16>, std::uint16_t, float>;

at::Tensor decode_on_cpu(const at::Tensor& blocks, const at::Tensor& scales, at::ScalarType type) {
  if (type == at::kDouble) return decode_on_cpu(blocks, scales, at::kFloat).to(type);
  const Mxfp4Matrix packed{fused_cpu::read_pointer<std::uint8_t>(blocks), fused_cpu::read_pointer<std::uint8_t>(scales),
                           blocks.size(0), blocks.size(1) * kMxfp4Block};
  at::Tensor matrix = at::empty({packed.columns, packed.rows}, type);
  fused_cpu::by_type(type, [&](auto t) {
    using T = DecodedType<typename decltype(t)::Type>;
    T* out = fused_cpu::write_pointer<T>(matrix);
    parallel_rows(packed.rows, kColumns, [&](std::int64_t from, std::int64_t to) {
      decode_mxfp4_transposed(packed, from, to, out + from, packed.rows);
    });
  });
  return matrix;
}

at::Tensor decode_by_operators(const at::Tensor& blocks, const at::Tensor& scales, at::ScalarType type) {
  const at::Tensor table = at::tensor(at::ArrayRef<float>(kE2m1), at::kFloat).to(blocks.device());
  const at::Tensor low = blocks.bitwise_and(15).to(at::kLong);
  const at::Tensor high = blocks.bitwise_right_shift(4).to(at::kLong);
  const at::Tensor codes = at::stack({low, high}, 3);  // [out, in / 32, 16, 2]
  const at::Tensor values = table.index({codes}).view({blocks.size(0), blocks.size(1), kMxfp4Block});
  // In double, where 2^-127 is an ordinary number.
  const at::Tensor exponents = scales.to(at::kDouble).sub(127).unsqueeze(2);
  return at::ldexp(values.to(at::kDouble), exponents).to(type).view({blocks.size(0), -1}).t().contiguous();
}

}  // namespace

at::Tensor ExpertMatrices::of(std::int64_t expert, at::ScalarType type) const {
  if (!packed()) return dense.select(0, expert);
  const at::Tensor block = blocks.select(0, expert).contiguous();
  const at::Tensor scale = scales.select(0, expert).contiguous();
  const bool on_cpu = fused(at::empty({0}, blocks.options().dtype(type)));
  return on_cpu ? decode_on_cpu(block, scale, type) : decode_by_operators(block, scale, type);
}

}  // namespace kc
