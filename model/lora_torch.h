#pragma once
// Low-rank adapters: y = W x + s B (A x) beside a frozen base, whatever type the base has; s = alpha / rank, or
// alpha / sqrt(rank) when rank-stabilised. The products are formed per row; the matrix B A never is. r rank, E experts,
// H hidden, I width of an expert. Formulas: Hu and others, "LoRA" (2021); the layouts are PEFT's and Tinker's.
#include <cstdint>
#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "base/rng.h"
#include "model/lora.h"
#include "weights/gpt_oss_config.h"

namespace kc {

// One pair. Linear layers: a [r, in], b [out, r]. Experts: a [E or 1, r, in], b [E or 1, out, r]; a leading 1 is shared
// by all experts. Undefined where nothing is adapted.
struct LowRank {
  at::Tensor a, b;
  double scale = 0;
  bool defined() const { return a.defined(); }
};

// The trainable tensors of an adapter under `<module>.lora_A` and `<module>.lora_B`, fp32. Modules:
// model.layers.N.self_attn.{q,k,v,o}_proj, model.layers.N.mlp.experts.{gate_up_proj | gate_proj and up_proj,
// down_proj}, lm_head. gate_up_proj's rows of B are interleaved as the base's columns are; gate_proj and up_proj are
// its halves.
struct LoraAdapter {
  std::int64_t rank = 0;
  double alpha = 0;
  bool rank_stabilised = false;
  std::map<std::string, at::Tensor> tensors;

  bool empty() const { return tensors.empty(); }
  double scale() const;
  bool shares_experts() const;  // some pair has a side that all experts share
};

// A from Kaiming-uniform(sqrt 5) = uniform in +-1 / sqrt(in), one stream per tensor; B zero, so that the model is
// unchanged at first. Error{config} when no target is left.
LoraAdapter init_adapter(const GptOssConfig& config, const LoraOptions& options, const RngStream& rng);

// Pairs as the layers use them, differentiable in the adapter's tensors; undefined where the adapter has none.
LowRank low_rank(const LoraAdapter& adapter, const std::string& module);
LowRank gate_up_low_rank(const LoraAdapter& adapter, const std::string& experts_module);  // "...mlp.experts"

// y + s B (A x) in y's type, computed in the adapter's: y [N, out], x [N, in]. Differentiable; y itself when undefined.
at::Tensor add_low_rank(const at::Tensor& y, const at::Tensor& x, const LowRank& pair);
LowRank of_expert(const LowRank& pair, std::int64_t expert);  // [r, in] and [out, r]

// The same for one expert's rows without autograd: y += s B_e (A_e x) in place.
void add_expert_low_rank(const at::Tensor& y, const at::Tensor& x, const LowRank& pair, std::int64_t expert);

// Gradients of the above, added to d_a and d_b (fp32 zeros like a and b at first).
struct LowRankGradient {
  at::Tensor d_a, d_b;
};
LowRankGradient zero_gradient(const LowRank& pair);
void expert_low_rank_backward(const at::Tensor& x, const at::Tensor& d_y, const LowRank& pair, std::int64_t expert,
                              LowRankGradient& gradient);
// d_x += s (d_y B_e) A_e in place.
void add_expert_input_gradient(const at::Tensor& d_x, const at::Tensor& d_y, const LowRank& pair, std::int64_t expert);

}  // namespace kc
