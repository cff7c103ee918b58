#include <cmath>
#include <limits>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "model/cpu_kernels.h"
#include "model/layers_torch.h"
#include "model/routing_torch.h"

namespace kc::plain {

at::Tensor rms_norm(const at::Tensor& x_NH, const at::Tensor& weight_H, double eps) {
  const at::Tensor x = x_NH.to(attention_type(x_NH));
  const at::Tensor scaled = x.mul(x.mul(x).mean(-1, true).add(eps).rsqrt());
  return weight_H.mul(scaled).to(x_NH.scalar_type());
}

at::Tensor rotate(const at::Tensor& qkv_NC, const RopeTables& rope, const at::Tensor& positions_N,
                  const AttentionShape& s) {
  const at::Tensor all = qkv_NC.to(attention_type(qkv_NC)).view({-1, s.heads + 2 * s.kv_heads, s.head_dim});
  const at::Tensor turned = all.narrow(1, 0, s.heads + s.kv_heads);
  const at::Tensor cos = rope.cos.index_select(0, positions_N).unsqueeze(1).to(all.scalar_type());
  const at::Tensor sin = rope.sin.index_select(0, positions_N).unsqueeze(1).to(all.scalar_type());
  const at::Tensor a = turned.narrow(2, 0, s.head_dim / 2);
  const at::Tensor b = turned.narrow(2, s.head_dim / 2, s.head_dim / 2);
  const at::Tensor qk = at::cat({a.mul(cos).sub(b.mul(sin)), b.mul(cos).add(a.mul(sin))}, 2);
  return at::cat({qk, all.narrow(1, s.heads + s.kv_heads, s.kv_heads)}, 1).reshape({-1, s.columns()});
}

namespace {

// Queries of one matrix of scores, so that a long sliding sequence never makes a T x T one.
std::int64_t query_rows(std::int64_t window) { return window > 0 ? std::max<std::int64_t>(256, 2 * window) : 1024; }

at::Tensor hidden_pairs(const ScoreBlock& b, const at::Device& device) {
  const at::TensorOptions whole = at::TensorOptions().dtype(at::kLong).device(device);
  const at::Tensor query = at::arange(b.first_query, b.first_query + b.rows, whole);
  const at::Tensor age = query.unsqueeze(1).sub(at::arange(b.first_key, b.first_key + b.columns, whole).unsqueeze(0));
  const at::Tensor future = age.lt(0);
  return b.window > 0 ? at::logical_or(future, age.ge(b.window)) : future;
}

// q [B, nH, T, D]; k, v alike; sinks [1, nH, 1, 1].
struct Heads {
  at::Tensor q, k, v, sinks;
};

at::Tensor attend_block(const Heads& h, const ScoreBlock& b) {
  const at::Tensor q = h.q.narrow(2, b.first_query, b.rows);
  const at::Tensor k = h.k.narrow(2, b.first_key, b.columns);
  const at::Tensor scores = at::matmul(q, k.transpose(2, 3))
                                .mul(1 / std::sqrt(static_cast<double>(q.size(3))))
                                .masked_fill(hidden_pairs(b, q.device()), -std::numeric_limits<double>::infinity());
  const at::Tensor sink = h.sinks.expand({q.size(0), q.size(1), b.rows, 1});
  const at::Tensor probabilities = at::softmax(at::cat({scores, sink}, 3), 3).narrow(3, 0, b.columns);
  return at::matmul(probabilities, h.v.narrow(2, b.first_key, b.columns));
}

}  // namespace

at::Tensor attend(const at::Tensor& rotated_NC, const at::Tensor& sinks, const PackedTokens& tokens,
                  const AttentionShape& s) {
  const std::int64_t b = tokens.batch;
  const std::int64_t t = tokens.longest;
  const at::Tensor padded = at::zeros({b * t, s.columns()}, rotated_NC.options())
                                .index_copy(0, tokens.padded_rows_N, rotated_NC)
                                .view({b, t, s.heads + 2 * s.kv_heads, s.head_dim})
                                .transpose(1, 2);
  const std::int64_t group = s.heads / s.kv_heads;
  const Heads heads{padded.narrow(1, 0, s.heads), padded.narrow(1, s.heads, s.kv_heads).repeat_interleave(group, 1),
                    padded.narrow(1, s.heads + s.kv_heads, s.kv_heads).repeat_interleave(group, 1),
                    sinks.to(rotated_NC.scalar_type()).view({1, s.heads, 1, 1})};
  std::vector<at::Tensor> blocks;
  for (std::int64_t from = 0; from < t; from += query_rows(s.window)) {
    const std::int64_t to = std::min(t, from + query_rows(s.window));
    const std::int64_t oldest = s.window > 0 ? std::max<std::int64_t>(0, from - s.window + 1) : 0;
    blocks.push_back(attend_block(heads, {to - from, to - oldest, from, oldest, s.window}));
  }
  if (blocks.empty()) return rotated_NC.narrow(1, 0, s.heads * s.head_dim);
  return at::cat(blocks, 2)
      .transpose(1, 2)
      .reshape({b * t, s.heads * s.head_dim})
      .index_select(0, tokens.padded_rows_N);
}

at::Tensor experts(const at::Tensor& x_NH, const at::Tensor& router_logits_NE, const LayerWeights& w,
                   const ExpertShape& shape) {
  at::Tensor indices = prescribed_experts(router_logits_NE, shape.chosen);
  if (!indices.defined()) indices = std::get<1>(at::topk(router_logits_NE, shape.chosen, 1));
  report_experts(indices);
  const at::Tensor weights = at::softmax(router_logits_NE.gather(1, indices), 1);
  at::Tensor out = at::zeros_like(x_NH);
  for (std::int64_t e = 0; e < shape.experts; ++e) {
    const at::Tensor hits = indices.eq(e).nonzero();
    if (hits.size(0) == 0) continue;
    const at::Tensor rows = hits.select(1, 0);
    const at::Tensor x = x_NH.index_select(0, rows);
    const at::Tensor gate_up =
        add_low_rank(at::matmul(x, w.gate_up.of(e, x.scalar_type())).add(w.gate_up_bias.select(0, e)), x,
                     of_expert(w.gate_up_lora, e));
    const at::Tensor pairs = gate_up.view({-1, shape.width, 2});
    const at::Tensor gate = pairs.select(2, 0).clamp_max(shape.limit);
    const at::Tensor up = pairs.select(2, 1).clamp(-shape.limit, shape.limit);
    const at::Tensor activation = up.add(1).mul(gate.mul(at::sigmoid(gate.mul(shape.alpha))));
    const at::Tensor output =
        add_low_rank(at::matmul(activation, w.down.of(e, x_NH.scalar_type())).add(w.down_bias.select(0, e)), activation,
                     of_expert(w.down_lora, e));
    const at::Tensor weight = weights.index({rows, hits.select(1, 1)}).unsqueeze(1);
    out = out.index_add(0, rows, output.mul(weight));
  }
  return out;
}

}  // namespace kc::plain
