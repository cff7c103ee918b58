#include <torch/csrc/autograd/custom_function.h>

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "model/fused_torch.h"
#include "model/parallel.h"
#include "model/routing_torch.h"

namespace kc::fused_cpu {
namespace {

constexpr std::int64_t kRows = 128;

struct Experts {
  ExpertMatrices gate_up, down;
  at::Tensor gate_up_bias, down_bias;
  LowRank gate_up_lora = {}, down_lora = {};
};

SwigluShape swiglu_shape(const ExpertShape& s) { return {s.width, s.alpha, s.limit}; }

// f(e, from, rows) for each expert that has rows.
template <class F>
void each_expert(const std::vector<std::int64_t>& first, const F& f) {
  for (std::size_t e = 0; e + 1 < first.size(); ++e)
    if (first[e + 1] > first[e]) f(static_cast<std::int64_t>(e), first[e], first[e + 1] - first[e]);
}

at::Tensor gather(const at::Tensor& x, const at::Tensor& token_of_row) { return x.index_select(0, token_of_row); }

at::Tensor swiglu(const at::Tensor& gate_up, const ExpertShape& s) {
  at::Tensor out = at::empty({gate_up.size(0), s.width}, gate_up.options());
  by_type(gate_up.scalar_type(), [&](auto t) {
    using T = typename decltype(t)::Type;
    parallel_rows(out.size(0), kRows, [&](std::int64_t from, std::int64_t to) {
      cpu_kernels<T>().swiglu(read_pointer<T>(gate_up) + from * 2 * s.width, write_pointer<T>(out) + from * s.width,
                              to - from, swiglu_shape(s));
    });
  });
  return out;
}

// Sum over a token's choices; weighted by the routing when `weighted`.
at::Tensor combine(const at::Tensor& rows, const Routing& r, bool weighted) {
  const std::int64_t n = r.row_of_choice.size(0);
  const std::int64_t k = r.row_of_choice.size(1);
  const std::int64_t width = rows.size(1);
  at::Tensor out = at::empty({n, width}, rows.options());
  by_type(rows.scalar_type(), [&](auto t) {
    using T = typename decltype(t)::Type;
    const auto* weight = weighted ? read_pointer<ComputeType<T>>(r.weight_of_choice) : nullptr;
    parallel_rows(n, kRows, [&](std::int64_t from, std::int64_t to) {
      cpu_kernels<T>().combine(read_pointer<T>(rows), read_pointer<std::int64_t>(r.row_of_choice) + from * k,
                               weight == nullptr ? nullptr : weight + from * k, write_pointer<T>(out) + from * width,
                               to - from, k, width);
    });
  });
  return out;
}

struct ExpertForward {
  at::Tensor out, gate_up;
};

ExpertForward run_experts(const at::Tensor& x, const Routing& r, const Experts& w, const ExpertShape& s) {
  const at::Tensor rows = gather(x, r.token_of_row);
  at::Tensor gate_up = at::empty({rows.size(0), 2 * s.width}, x.options());
  each_expert(r.first, [&](std::int64_t e, std::int64_t from, std::int64_t n) {
    at::Tensor target = gate_up.narrow(0, from, n);
    at::addmm_out(target, w.gate_up_bias.select(0, e), rows.narrow(0, from, n), w.gate_up.of(e, x.scalar_type()));
    add_expert_low_rank(target, rows.narrow(0, from, n), w.gate_up_lora, e);
  });
  const at::Tensor activation = swiglu(gate_up, s);
  const at::Tensor& outputs = rows;  // its memory is free now
  each_expert(r.first, [&](std::int64_t e, std::int64_t from, std::int64_t n) {
    at::Tensor target = outputs.narrow(0, from, n);
    at::addmm_out(target, w.down_bias.select(0, e), activation.narrow(0, from, n), w.down.of(e, x.scalar_type()));
    add_expert_low_rank(target, activation.narrow(0, from, n), w.down_lora, e);
  });
  return {combine(outputs, r, true), gate_up};
}

struct RowGradients {
  at::Tensor d_gate_up;  // [N K, 2I]
  at::Tensor weighted;   // [N K, I]: routing weight times activation
  at::Tensor d_weight;   // [N K]
};

RowGradients swiglu_backward(const at::Tensor& gate_up, const at::Tensor& d_activation, const Routing& r,
                             const ExpertShape& s) {
  RowGradients g{at::empty_like(gate_up), at::empty_like(d_activation), at::empty_like(r.weight_of_row)};
  by_type(gate_up.scalar_type(), [&](auto t) {
    using T = typename decltype(t)::Type;
    using C = ComputeType<T>;
    parallel_rows(gate_up.size(0), kRows, [&](std::int64_t from, std::int64_t to) {
      cpu_kernels<T>().swiglu_backward(
          read_pointer<T>(gate_up) + from * 2 * s.width, read_pointer<T>(d_activation) + from * s.width,
          read_pointer<C>(r.weight_of_row) + from, write_pointer<T>(g.d_gate_up) + from * 2 * s.width,
          write_pointer<T>(g.weighted) + from * s.width, write_pointer<C>(g.d_weight) + from, to - from,
          swiglu_shape(s));
    });
  });
  return g;
}

// d_weight[row] += d_out row . down_bias of the row's expert.
void add_bias_part(const at::Tensor& d_rows, const at::Tensor& down_bias, const Routing& r, at::Tensor& d_weight) {
  const std::int64_t width = d_rows.size(1);
  by_type(d_rows.scalar_type(), [&](auto t) {
    using T = typename decltype(t)::Type;
    ComputeType<T>* out = write_pointer<ComputeType<T>>(d_weight);
    each_expert(r.first, [&](std::int64_t e, std::int64_t first, std::int64_t n) {
      const T* bias = read_pointer<T>(down_bias) + e * width;
      parallel_rows(n, kRows * 4, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = first + from; i < first + to; ++i)
          out[i] += cpu_kernels<T>().dot(read_pointer<T>(d_rows) + i * width, bias, width);
      });
    });
  });
}

// Which weights want a gradient; packed ones never do.
struct Wanted {
  bool gate_up, gate_up_bias, down, down_bias;
};

struct ExpertBackward {
  at::Tensor dx, d_logits;
  at::Tensor gate_up, gate_up_bias, down, down_bias;  // gradients; undefined where not wanted
  LowRankGradient gate_up_lora, down_lora;            // likewise
};

at::Tensor zeros_if(bool wanted, const at::Tensor& like) { return wanted ? at::zeros_like(like) : at::Tensor(); }

struct ExpertLayer {
  Experts weights;
  ExpertShape shape;
  Wanted wanted;
};

ExpertBackward experts_backward(const at::Tensor& x, const at::Tensor& gate_up, const at::Tensor& d_out,
                                const Routing& r, const ExpertLayer& layer) {
  const auto& [w, s, wanted] = layer;
  const at::Tensor d_rows = gather(d_out, r.token_of_row);
  const at::Tensor rows = gather(x, r.token_of_row);
  const at::Tensor d_activation = at::empty({rows.size(0), s.width}, x.options());
  each_expert(r.first, [&](std::int64_t e, std::int64_t from, std::int64_t n) {
    at::Tensor target = d_activation.narrow(0, from, n);
    at::mm_out(target, d_rows.narrow(0, from, n), w.down.of(e, x.scalar_type()).t());
    add_expert_input_gradient(target, d_rows.narrow(0, from, n), w.down_lora, e);
  });
  RowGradients g = swiglu_backward(gate_up, d_activation, r, s);
  add_bias_part(d_rows, w.down_bias, r, g.d_weight);
  ExpertBackward result{{},
                        route_backward(r, g.d_weight, s.experts, x.scalar_type()),
                        zeros_if(wanted.gate_up, w.gate_up.dense),
                        zeros_if(wanted.gate_up_bias, w.gate_up_bias),
                        zeros_if(wanted.down, w.down.dense),
                        zeros_if(wanted.down_bias, w.down_bias),
                        zero_gradient(w.gate_up_lora),
                        zero_gradient(w.down_lora)};
  const at::Tensor weight = r.weight_of_row.to(x.scalar_type()).unsqueeze(0);
  const at::Tensor dx_rows = at::empty_like(rows);
  each_expert(r.first, [&](std::int64_t e, std::int64_t from, std::int64_t n) {
    const at::Tensor d_gate_up = g.d_gate_up.narrow(0, from, n);
    const at::Tensor d_row = d_rows.narrow(0, from, n);
    const auto product = [&](const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
      at::Tensor target = out;
      at::mm_out(target, a, b);
    };
    if (wanted.gate_up) product(result.gate_up.select(0, e), rows.narrow(0, from, n).t(), d_gate_up);
    if (wanted.down) product(result.down.select(0, e), g.weighted.narrow(0, from, n).t(), d_row);
    if (wanted.down_bias) product(result.down_bias.narrow(0, e, 1), weight.narrow(1, from, n), d_row);
    if (wanted.gate_up_bias) result.gate_up_bias.select(0, e).copy_(d_gate_up.sum(0));
    product(dx_rows.narrow(0, from, n), d_gate_up, w.gate_up.of(e, x.scalar_type()).t());
    add_expert_input_gradient(dx_rows.narrow(0, from, n), d_gate_up, w.gate_up_lora, e);
    expert_low_rank_backward(rows.narrow(0, from, n), d_gate_up, w.gate_up_lora, e, result.gate_up_lora);
    expert_low_rank_backward(g.weighted.narrow(0, from, n), d_row, w.down_lora, e, result.down_lora);
  });
  result.dx = combine(dx_rows, r, false);
  return result;
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Inputs in the order of forward's tensors: x, logits, gate_up, gate_up_bias, down, down_bias, then the adapter's a and
// b of gate_up and of down, empty where there is none.
struct ExpertFunction : torch::autograd::Function<ExpertFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& logits,
                            const at::Tensor& gate_up, const at::Tensor& gate_up_bias, const at::Tensor& down,
                            const at::Tensor& down_bias, at::TensorList lora, const LayerWeights& w,
                            const ExpertShape& s) {
    const Routing r = route(logits, s.chosen);
    const double scale = w.gate_up_lora.defined() ? w.gate_up_lora.scale : w.down_lora.scale;
    const Experts experts{w.gate_up, w.down, gate_up_bias, down_bias, w.gate_up_lora, w.down_lora};
    const ExpertForward f = run_experts(x, r, experts, s);
    ctx->save_for_backward({x, f.gate_up, gate_up, gate_up_bias, down, down_bias, r.token_of_row, r.row_of_choice,
                            r.expert_of_choice, r.weight_of_choice, r.weight_of_row, w.gate_up.blocks, w.gate_up.scales,
                            w.down.blocks, w.down.scales, lora[0], lora[1], lora[2], lora[3]});
    ctx->saved_data["first"] = r.first;
    ctx->saved_data["sizes"] = std::vector<std::int64_t>{s.experts, s.chosen, s.width};
    ctx->saved_data["clamp"] = std::vector<double>{s.alpha, s.limit, scale};
    return f.out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list v = ctx->get_saved_variables();
    const std::vector<std::int64_t> sizes = ctx->saved_data["sizes"].toIntVector();
    const std::vector<double> clamp = ctx->saved_data["clamp"].toDoubleVector();
    const auto pair = [&](std::size_t i) { return v[i].numel() == 0 ? LowRank{} : LowRank{v[i], v[i + 1], clamp[2]}; };
    const ExpertLayer layer{
        {{v[2], v[11], v[12]}, {v[4], v[13], v[14]}, v[3], v[5], pair(15), pair(17)},
        {sizes[0], sizes[1], sizes[2], clamp[0], clamp[1]},
        {ctx->needs_input_grad(2), ctx->needs_input_grad(3), ctx->needs_input_grad(4), ctx->needs_input_grad(5)}};
    const Routing r{ctx->saved_data["first"].toIntVector(), v[6], v[7], v[8], v[9], v[10]};
    const ExpertBackward b = experts_backward(v[0], v[1], grads[0].contiguous(), r, layer);
    return {b.dx,
            b.d_logits,
            b.gate_up,
            b.gate_up_bias,
            b.down,
            b.down_bias,
            b.gate_up_lora.d_a,
            b.gate_up_lora.d_b,
            b.down_lora.d_a,
            b.down_lora.d_b,
            {},
            {}};
  }
};

}  // namespace

at::Tensor experts(const at::Tensor& x_NH, const at::Tensor& router_logits_NE, const LayerWeights& w,
                   const ExpertShape& shape) {
  // A function of autograd takes no undefined tensors.
  const auto dense = [&](const ExpertMatrices& m) { return m.packed() ? at::empty({0}, x_NH.options()) : m.dense; };
  const auto or_empty = [&](const at::Tensor& t) { return t.defined() ? t : at::empty({0}, x_NH.options()); };
  const std::vector<at::Tensor> lora = {or_empty(w.gate_up_lora.a), or_empty(w.gate_up_lora.b), or_empty(w.down_lora.a),
                                        or_empty(w.down_lora.b)};
  return ExpertFunction::apply(x_NH.contiguous(), router_logits_NE, dense(w.gate_up), w.gate_up_bias, dense(w.down),
                               w.down_bias, at::TensorList(lora), w, shape);
}

}  // namespace kc::fused_cpu
