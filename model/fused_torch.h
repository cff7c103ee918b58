#pragma once
// Autograd functions over the CPU kernels (cpu_kernels.h); see layers_torch.h for what each computes.
#include "model/cpu_kernels.h"
#include "model/layers_torch.h"

namespace kc::fused_cpu {

at::Tensor rms_norm(const at::Tensor& x_NH, const at::Tensor& weight_H, double eps);  // one type, contiguous

at::Tensor rotate(const at::Tensor& qkv, const RopeTables& rope, const at::Tensor& positions,
                  const AttentionShape& shape);  // no derivatives

// `rotated` is of attention_type; the result too.
at::Tensor attention(const at::Tensor& qkv_NC, const at::Tensor& sinks, const RopeTables& rope,
                     const PackedTokens& tokens, const AttentionShape& shape);
AttentionResult attention_with_cache(const at::Tensor& qkv_NC, const at::Tensor& sinks, const RopeTables& rope,
                                     const PackedTokens& tokens, const AttentionShape& shape);

at::Tensor experts(const at::Tensor& x_NH, const at::Tensor& router_logits_NE, const LayerWeights& weights,
                   const ExpertShape& shape);

// Data pointers as the kernels name their types.
template <class T>
struct Stored {
  using Type = T;
};
template <class T>
const T* read_pointer(const at::Tensor& t) {
  return static_cast<const T*>(t.const_data_ptr());
}
template <class T>
T* write_pointer(const at::Tensor& t) {
  return static_cast<T*>(t.mutable_data_ptr());
}

// Calls f(Stored<T>{}) for the element type of a tensor.
template <class F>
auto by_type(at::ScalarType type, const F& f) {
  if (type == at::kDouble) return f(Stored<double>{});
  if (type == at::kBFloat16) return f(Stored<Bf16>{});
  return f(Stored<float>{});
}

}  // namespace kc::fused_cpu
