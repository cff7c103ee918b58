#pragma once
// Attention on rotated rows, block of queries by block of queries: memory grows with the length, not with its square.
#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/layers_torch.h"

namespace kc {

struct AttentionInput {
  at::Tensor rotated;                 // [N, C] of C = float or double
  at::Tensor sinks;                   // [nH]
  std::vector<std::int64_t> offsets;  // of the sequences
  AttentionShape shape;
  const std::function<void(std::int64_t)>* on_scores = nullptr;  // as PackedTokens::on_scores; null: nobody asks
};

// Scores that attend_forward computes for one sequence, those of later positions within its blocks included.
std::int64_t count_scores(std::int64_t length, const AttentionShape& shape);

// out [N, nH D]; lse [N, nH] = log of the softmax's denominator, sink included.
template <class C>
void attend_forward(const AttentionInput& in, const at::Tensor& out, const at::Tensor& lse);

struct AttentionGradients {
  at::Tensor out, lse;   // from the forward pass
  at::Tensor d_out;      // [N, nH D]
  at::Tensor d_rotated;  // result [N, C]
  at::Tensor d_sinks;    // result [sequences, nH]: to be summed over sequences
};
template <class C>
void attend_backward(const AttentionInput& in, const AttentionGradients& gradients);

}  // namespace kc
