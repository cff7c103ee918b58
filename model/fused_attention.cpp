#include <cmath>

#include <torch/csrc/autograd/custom_function.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "model/attention_blocks_torch.h"
#include "model/fused_torch.h"
#include "model/parallel.h"

namespace kc::fused_cpu {
namespace {

constexpr std::int64_t kRopeRows = 128;

RopeLayout rope_layout(const AttentionShape& s) { return {s.heads + s.kv_heads, s.kv_heads, s.head_dim}; }

at::Tensor rotate_back(const at::Tensor& d_rotated, at::ScalarType type, const RopeTables& rope,
                       const at::Tensor& positions, const AttentionShape& s) {
  at::Tensor out = at::empty(d_rotated.sizes(), d_rotated.options().dtype(type));
  by_type(type, [&](auto t) {
    using T = typename decltype(t)::Type;
    parallel_rows(out.size(0), kRopeRows, [&](std::int64_t from, std::int64_t to) {
      cpu_kernels<T>().rope_backward(read_pointer<ComputeType<T>>(d_rotated) + from * s.columns(),
                                     write_pointer<T>(out) + from * s.columns(),
                                     read_pointer<std::int64_t>(positions) + from, read_pointer<float>(rope.cos),
                                     read_pointer<float>(rope.sin), to - from, rope_layout(s));
    });
  });
  return out;
}

}  // namespace

at::Tensor rotate(const at::Tensor& qkv, const RopeTables& rope, const at::Tensor& positions, const AttentionShape& s) {
  at::Tensor out = at::empty(qkv.sizes(), qkv.options().dtype(attention_type(qkv)));
  by_type(qkv.scalar_type(), [&](auto t) {
    using T = typename decltype(t)::Type;
    parallel_rows(qkv.size(0), kRopeRows, [&](std::int64_t from, std::int64_t to) {
      cpu_kernels<T>().rope(read_pointer<T>(qkv) + from * s.columns(),
                            write_pointer<ComputeType<T>>(out) + from * s.columns(),
                            read_pointer<std::int64_t>(positions) + from, read_pointer<float>(rope.cos),
                            read_pointer<float>(rope.sin), to - from, rope_layout(s));
    });
  });
  return out;
}

namespace {

struct Attended {
  at::Tensor out, lse;
};

Attended attend(const at::Tensor& rotated, const at::Tensor& sinks, const PackedTokens& tokens,
                const AttentionShape& s) {
  Attended a{at::empty({rotated.size(0), s.heads * s.head_dim}, rotated.options()),
             at::empty({rotated.size(0), s.heads}, rotated.options())};
  const AttentionInput in{rotated, sinks, tokens.offsets, s, tokens.on_scores ? &tokens.on_scores : nullptr};
  if (rotated.scalar_type() == at::kDouble)
    attend_forward<double>(in, a.out, a.lse);
  else
    attend_forward<float>(in, a.out, a.lse);
  return a;
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct AttentionFunction : torch::autograd::Function<AttentionFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& qkv, const at::Tensor& sinks,
                            const RopeTables& rope, const PackedTokens& tokens, const AttentionShape& s) {
    const at::Tensor rotated = rotate(qkv, rope, tokens.positions_N, s);
    const at::Tensor sink = sinks.to(rotated.scalar_type());
    const Attended a = attend(rotated, sink, tokens, s);
    ctx->save_for_backward({rotated, sink, a.out, a.lse, rope.cos, rope.sin, tokens.positions_N});
    ctx->saved_data["offsets"] = tokens.offsets;
    ctx->saved_data["shape"] = std::vector<std::int64_t>{s.heads, s.kv_heads, s.head_dim, s.window};
    ctx->saved_data["types"] = std::vector<std::int64_t>{static_cast<std::int64_t>(qkv.scalar_type()),
                                                         static_cast<std::int64_t>(sinks.scalar_type())};
    return a.out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const std::vector<std::int64_t> dims = ctx->saved_data["shape"].toIntVector();
    const std::vector<std::int64_t> types = ctx->saved_data["types"].toIntVector();
    const AttentionShape s{dims[0], dims[1], dims[2], dims[3]};
    const AttentionInput in{saved[0], saved[1], ctx->saved_data["offsets"].toIntVector(), s};
    const at::Tensor d_out = grads[0].contiguous();
    at::Tensor d_rotated = at::empty_like(in.rotated);
    at::Tensor d_sinks = at::zeros({static_cast<std::int64_t>(in.offsets.size()) - 1, s.heads}, d_out.options());
    const AttentionGradients g{saved[2], saved[3], d_out, d_rotated, d_sinks};
    if (d_out.scalar_type() == at::kDouble)
      attend_backward<double>(in, g);
    else
      attend_backward<float>(in, g);
    const RopeTables rope{saved[4], saved[5]};
    return {rotate_back(d_rotated, static_cast<at::ScalarType>(types[0]), rope, saved[6], s),
            d_sinks.sum(0).to(static_cast<at::ScalarType>(types[1])),
            {},
            {},
            {}};
  }
};

}  // namespace

at::Tensor attention(const at::Tensor& qkv_NC, const at::Tensor& sinks, const RopeTables& rope,
                     const PackedTokens& tokens, const AttentionShape& shape) {
  return AttentionFunction::apply(qkv_NC.contiguous(), sinks, rope, tokens, shape);
}

AttentionResult attention_with_cache(const at::Tensor& qkv_NC, const at::Tensor& sinks, const RopeTables& rope,
                                     const PackedTokens& tokens, const AttentionShape& shape) {
  const at::Tensor rotated = rotate(qkv_NC.contiguous(), rope, tokens.positions_N, shape);
  return {attend(rotated, sinks.to(rotated.scalar_type()), tokens, shape).out, rotated};
}

}  // namespace kc::fused_cpu
