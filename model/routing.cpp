#include "model/routing_torch.h"

#include <cmath>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "model/parallel.h"

namespace kc {
namespace {

constexpr std::int64_t kTokens = 1024;  // of one task

template <class C>
void choose_row(const C* logits, std::int64_t experts, std::int64_t chosen, std::int64_t* expert) {
  for (std::int64_t j = 0; j < chosen; ++j) {
    std::int64_t best = -1;
    for (std::int64_t e = 0; e < experts; ++e) {
      bool taken = false;
      for (std::int64_t i = 0; i < j; ++i) taken = taken || expert[i] == e;
      if (!taken && (best < 0 || logits[e] > logits[best])) best = e;
    }
    expert[j] = best;
  }
}

template <class C>
void weigh_row(const C* logits, std::int64_t chosen, const std::int64_t* expert, C* weight) {
  C most = logits[expert[0]];
  for (std::int64_t j = 1; j < chosen; ++j) most = std::max(most, logits[expert[j]]);
  C sum = 0;
  for (std::int64_t j = 0; j < chosen; ++j) sum += weight[j] = std::exp(logits[expert[j]] - most);
  for (std::int64_t j = 0; j < chosen; ++j) weight[j] /= sum;
}

// Sorting by counting: rows of expert e start at first[e].
template <class C>
void sort_by_expert(Routing& r, std::int64_t experts) {
  const std::int64_t choices = r.expert_of_choice.numel();
  const std::int64_t chosen = r.expert_of_choice.size(1);
  const std::int64_t* expert = r.expert_of_choice.const_data_ptr<std::int64_t>();
  const C* weight = r.weight_of_choice.const_data_ptr<C>();
  std::int64_t* row_of_choice = r.row_of_choice.mutable_data_ptr<std::int64_t>();
  std::int64_t* token_of_row = r.token_of_row.mutable_data_ptr<std::int64_t>();
  C* weight_of_row = r.weight_of_row.mutable_data_ptr<C>();
  r.first.assign(static_cast<std::size_t>(experts) + 1, 0);
  for (std::int64_t i = 0; i < choices; ++i) ++r.first[static_cast<std::size_t>(expert[i]) + 1];
  for (std::size_t e = 0; e < static_cast<std::size_t>(experts); ++e) r.first[e + 1] += r.first[e];
  std::vector<std::int64_t> next(r.first.begin(), r.first.end() - 1);
  for (std::int64_t i = 0; i < choices; ++i) {
    const std::int64_t row = next[static_cast<std::size_t>(expert[i])]++;
    row_of_choice[i] = row;
    token_of_row[row] = i / chosen;
    weight_of_row[row] = weight[i];
  }
}

template <class C>
void route_all(const at::Tensor& logits, const at::Tensor& prescribed, Routing& r) {
  const std::int64_t experts = logits.size(1);
  const std::int64_t chosen = r.expert_of_choice.size(1);
  const C* data = logits.const_data_ptr<C>();
  std::int64_t* expert = r.expert_of_choice.mutable_data_ptr<std::int64_t>();
  C* weight = r.weight_of_choice.mutable_data_ptr<C>();
  if (prescribed.defined()) r.expert_of_choice.copy_(prescribed);
  parallel_rows(logits.size(0), kTokens, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t t = from; t < to; ++t) {
      if (!prescribed.defined()) choose_row(data + t * experts, experts, chosen, expert + t * chosen);
      weigh_row(data + t * experts, chosen, expert + t * chosen, weight + t * chosen);
    }
  });
  report_experts(r.expert_of_choice);
  sort_by_expert<C>(r, experts);
}

template <class C>
void backward_rows(const Routing& r, const at::Tensor& d_weight_of_row, at::Tensor& d_logits) {
  const std::int64_t experts = d_logits.size(1);
  const std::int64_t chosen = r.expert_of_choice.size(1);
  const std::int64_t* expert = r.expert_of_choice.const_data_ptr<std::int64_t>();
  const std::int64_t* row = r.row_of_choice.const_data_ptr<std::int64_t>();
  const C* weight = r.weight_of_choice.const_data_ptr<C>();
  const C* d_weight = d_weight_of_row.const_data_ptr<C>();
  C* out = d_logits.mutable_data_ptr<C>();
  parallel_rows(d_logits.size(0), kTokens, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t t = from; t < to; ++t) {
      C mean = 0;
      for (std::int64_t i = t * chosen; i < (t + 1) * chosen; ++i) mean += weight[i] * d_weight[row[i]];
      for (std::int64_t i = t * chosen; i < (t + 1) * chosen; ++i)
        out[t * experts + expert[i]] = weight[i] * (d_weight[row[i]] - mean);
    }
  });
}

}  // namespace

Routing route(const at::Tensor& logits_NE, std::int64_t chosen) {
  const at::ScalarType type = logits_NE.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor logits = logits_NE.to(type).contiguous();
  const at::TensorOptions whole = at::TensorOptions().dtype(at::kLong);
  const std::int64_t n = logits.size(0);
  Routing r{{},
            at::empty({n * chosen}, whole),
            at::empty({n, chosen}, whole),
            at::empty({n, chosen}, whole),
            at::empty({n, chosen}, logits.options()),
            at::empty({n * chosen}, logits.options())};
  const at::Tensor prescribed = prescribed_experts(logits, chosen);
  if (type == at::kDouble)
    route_all<double>(logits, prescribed, r);
  else
    route_all<float>(logits, prescribed, r);
  return r;
}

at::Tensor route_backward(const Routing& routing, const at::Tensor& d_weight_of_row, std::int64_t experts,
                          at::ScalarType type) {
  at::Tensor d_logits = at::zeros({routing.expert_of_choice.size(0), experts}, d_weight_of_row.options());
  if (d_weight_of_row.scalar_type() == at::kDouble)
    backward_rows<double>(routing, d_weight_of_row, d_logits);
  else
    backward_rows<float>(routing, d_weight_of_row, d_logits);
  return d_logits.to(type);
}

}  // namespace kc
