#pragma once
// The GPT-OSS forward pass as functions over a struct of tensors. Legend: B sequences, T positions, N = tokens kept,
// H hidden, V vocabulary. One code for CPU and CUDA, fp32 and bf16; reductions, softmax, norms and RoPE tables in fp32.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/rng.h"
#include "model/lora_torch.h"
#include "weights/gpt_oss_config.h"
#include "weights/tensor_tables.h"

namespace kc {

// Names and layouts are those of transformers (tensor_tables.h): experts expanded, mlp.experts.gate_up_proj [E, H, 2I]
// and down_proj [E, I, H], or, where config.experts_of(layer) is mxfp4, their blocks and scales as u8.
struct GptOssWeights {
  std::map<std::string, at::Tensor> tensors;  // ordered by name: iteration order is the optimiser's order
  LoraAdapter adapter = {};                   // empty: none

  // What training changes: the adapter's tensors where there is one (the base is frozen), else all.
  const std::map<std::string, at::Tensor>& trainable() const { return adapter.empty() ? tensors : adapter.tensors; }
  void require_grad(bool on);  // of the trainable tensors; packed matrices never want one
};

using WeightShapes = std::map<std::string, std::vector<std::int64_t>>;
WeightShapes weight_shapes(const GptOssConfig& config);  // of tensor_table(config)

// Deviation 1/sqrt(hidden), output projections (o_proj, down_proj) divided by sqrt(2 layers); norms 1; biases and sinks
// 0.
GptOssWeights init_weights(const GptOssConfig& config, RngStream rng);

// Right-padded batch. Positions at or past a row's length are ignored: they change no other position's result.
struct TokenBatch {
  at::Tensor ids_BT;     // int64
  at::Tensor lengths_B;  // int64, on the CPU
};

// Final-norm hidden states [B, T, H]; differentiable when the weights require gradients. Rows at padding are
// unspecified but finite. `on_flops`, where given, is told of the arithmetic as it is done, from several threads at
// once: for a progress display.
at::Tensor forward_hidden(const GptOssConfig& config, const GptOssWeights& weights, const TokenBatch& batch,
                          const std::function<void(double flops)>& on_flops = {});
// What `on_flops` is told in all, of one sequence of this length; attention's share grows with its square.
double forward_flops(const GptOssConfig& config, std::int64_t tokens);

// Logits [N, V] in fp32 of chosen hidden rows [N, H].
at::Tensor unembed(const GptOssConfig& config, const GptOssWeights& weights, const at::Tensor& hidden_NH);

}  // namespace kc
