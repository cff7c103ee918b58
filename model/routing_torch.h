#pragma once
// Which expert works on which token, and with what weight.
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace kc {

// Assignments sorted by expert, within an expert by token. K chosen experts per token; N K assignments.
struct Routing {
  std::vector<std::int64_t> first;  // [E + 1]: expert e has rows first[e] to first[e + 1]
  at::Tensor token_of_row;          // int64 [N K]
  at::Tensor row_of_choice;         // int64 [N, K]
  at::Tensor expert_of_choice;      // int64 [N, K]
  at::Tensor weight_of_choice;      // compute type [N, K]: softmax over the chosen logits
  at::Tensor weight_of_row;         // compute type [N K]
};

// The `chosen` largest logits of each row; of equal ones the lower expert.
Routing route(const at::Tensor& logits_NE, std::int64_t chosen);

// Gradient of the logits from that of each row's weight.
at::Tensor route_backward(const Routing& routing, const at::Tensor& d_weight_of_row, std::int64_t experts,
                          at::ScalarType type);

}  // namespace kc
