#include <ATen/ops/linear.h>

#include "model/attention_blocks_torch.h"
#include "model/fused_torch.h"
#include "model/layers_torch.h"

namespace kc {
namespace {

bool fused_on = true;

}  // namespace

void use_fused_kernels(bool on) { fused_on = on; }

bool fused(const at::Tensor& any) {
  const at::ScalarType type = any.scalar_type();
  return fused_on && any.is_cpu() && (type == at::kFloat || type == at::kDouble || type == at::kBFloat16);
}

at::ScalarType attention_type(const at::Tensor& any) {
  return any.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor rms_norm(const at::Tensor& x_NH, const at::Tensor& weight_H, double eps) {
  const bool same = x_NH.scalar_type() == weight_H.scalar_type();
  return fused(x_NH) && same ? fused_cpu::rms_norm(x_NH, weight_H, eps) : plain::rms_norm(x_NH, weight_H, eps);
}

at::Tensor rotate_rows(const at::Tensor& qkv_NC, const RopeTables& rope, const at::Tensor& positions_N,
                       const AttentionShape& shape) {
  return fused(qkv_NC) ? fused_cpu::rotate(qkv_NC.contiguous(), rope, positions_N, shape)
                       : plain::rotate(qkv_NC, rope, positions_N, shape);
}

at::Tensor attention(const at::Tensor& qkv_NC, const at::Tensor& sinks, const RopeTables& rope,
                     const PackedTokens& tokens, const AttentionShape& shape) {
  if (fused(qkv_NC)) return fused_cpu::attention(qkv_NC, sinks, rope, tokens, shape).to(qkv_NC.scalar_type());
  const at::Tensor out = plain::attend(plain::rotate(qkv_NC, rope, tokens.positions_N, shape), sinks, tokens, shape);
  for (std::int64_t b = 0; tokens.on_scores && b < tokens.batch; ++b)
    tokens.on_scores(count_scores(tokens.length(b), shape));
  return out.to(qkv_NC.scalar_type());
}

AttentionResult attention_with_cache(const at::Tensor& qkv_NC, const at::Tensor& sinks, const RopeTables& rope,
                                     const PackedTokens& tokens, const AttentionShape& shape) {
  AttentionResult result;
  if (fused(qkv_NC)) {
    result = fused_cpu::attention_with_cache(qkv_NC, sinks, rope, tokens, shape);
  } else {
    result.rotated = plain::rotate(qkv_NC, rope, tokens.positions_N, shape);
    result.out = plain::attend(result.rotated, sinks, tokens, shape);
  }
  result.out = result.out.to(qkv_NC.scalar_type());
  return result;
}

at::Tensor mixture_of_experts(const at::Tensor& x_NH, const LayerWeights& weights, const ExpertShape& shape) {
  const at::Tensor logits = at::linear(x_NH, weights.router, weights.router_bias);
  return fused(x_NH) ? fused_cpu::experts(x_NH, logits, weights, shape) : plain::experts(x_NH, logits, weights, shape);
}

}  // namespace kc
