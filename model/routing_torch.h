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

// While one lives, this thread's expert layers take the experts that it prescribes instead of choosing (the weights
// stay the softmax over the router's own logits), and tell it what they took. For comparing arithmetic whose rounding
// would let near-ties of the router fall differently.
class RoutingProbe {
 public:
  // Layer by layer in the order in which they run, int64 [N, K]; empty: prescribes nothing.
  explicit RoutingProbe(std::vector<at::Tensor> prescribed = {});
  ~RoutingProbe();
  RoutingProbe(const RoutingProbe&) = delete;
  RoutingProbe& operator=(const RoutingProbe&) = delete;
  const std::vector<at::Tensor>& taken() const { return taken_; }  // int64 [N, K] per layer that ran

 private:
  friend at::Tensor prescribed_experts(const at::Tensor& logits_NE, std::int64_t chosen);
  friend void report_experts(const at::Tensor& experts_NK);
  std::vector<at::Tensor> prescribed_, taken_;
};

// For the implementations of the experts: the probe's choice for the layer that runs now (undefined: none), and what
// was taken. Error{internal} when a prescribed choice does not fit.
at::Tensor prescribed_experts(const at::Tensor& logits_NE, std::int64_t chosen);
void report_experts(const at::Tensor& experts_NK);

}  // namespace kc
