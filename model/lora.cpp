#include <algorithm>
#include <cmath>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "base/error.h"
#include "model/lora_torch.h"
#include "model/transformer_torch.h"

namespace kc {

bool LoraOptions::targets_part(const std::string& part) const {
  return std::find(targets.begin(), targets.end(), part) != targets.end();
}

LoraOptions read_lora_options(Config& config) {
  ConfigSection s = config.section("model.lora");
  LoraOptions o;
  o.rank = s.integer("rank", o.rank,
                     {.meaning = "rank of a low-rank adapter over the frozen model of run.init; 0 = train all weights",
                      .min = 0,
                      .max = 4096});
  o.alpha =
      s.number("alpha", o.alpha, {.meaning = "the adapter's output is scaled by alpha / rank", .min = 0, .max = 1e6});
  o.targets = s.texts("targets", o.targets, {.meaning = "parts with an adapter: attention, experts, unembedding"});
  o.shared_experts = s.choice("experts", "shared", {"shared", "per_expert"},
                              {.meaning = "shared: one side of each expert pair is common to all experts"}) == "shared";
  for (const std::string& target : o.targets)
    if (target != "attention" && target != "experts" && target != "unembedding")
      s.fault("targets", "\"" + target + "\" names no part of the model; expected attention, experts or unembedding");
  if (o.on() && o.targets.empty()) s.fault("targets", "an adapter of rank > 0 needs at least one target");
  if (o.on() && !(o.alpha > 0)) s.fault("alpha", "must be above 0");
  return o;
}

double LoraAdapter::scale() const {
  const auto r = static_cast<double>(rank);
  return alpha / (rank_stabilised ? std::sqrt(r) : r);
}

bool LoraAdapter::shares_experts() const {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const auto& entry) { return entry.second.dim() == 3 && entry.second.size(0) == 1; });
}

namespace {

class Initialiser {
 public:
  Initialiser(LoraAdapter& adapter, const RngStream& rng) : adapter_(adapter), rng_(rng) {}

  void linear(const std::string& module, std::int64_t in, std::int64_t out) {
    put(module, {adapter_.rank, in}, {out, adapter_.rank});
  }
  void experts(const std::string& module, std::int64_t in, std::int64_t out, std::int64_t a_experts,
               std::int64_t b_experts) {
    put(module, {a_experts, adapter_.rank, in}, {b_experts, out, adapter_.rank});
  }

 private:
  void put(const std::string& module, const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
    const at::Tensor first = at::empty(a, at::kFloat);
    const double bound = 1 / std::sqrt(static_cast<double>(a.back()));
    RngStream rng = rng_.child(module);
    float* data = first.mutable_data_ptr<float>();
    for (std::int64_t i = 0; i < first.numel(); ++i) data[i] = static_cast<float>((2 * rng.uniform() - 1) * bound);
    adapter_.tensors[module + ".lora_A"] = first;
    adapter_.tensors[module + ".lora_B"] = at::zeros(b, at::kFloat);
  }

  LoraAdapter& adapter_;
  const RngStream& rng_;
};

void init_layer(Initialiser& put, const GptOssConfig& c, const LoraOptions& options, std::int64_t layer) {
  const std::int64_t queries = c.num_attention_heads * c.head_dim;
  const std::int64_t keys = c.num_key_value_heads * c.head_dim;
  const std::int64_t e = c.num_local_experts;
  if (options.targets_part("attention")) {
    put.linear(layer_name(layer, "self_attn.q_proj"), c.hidden_size, queries);
    put.linear(layer_name(layer, "self_attn.k_proj"), c.hidden_size, keys);
    put.linear(layer_name(layer, "self_attn.v_proj"), c.hidden_size, keys);
    put.linear(layer_name(layer, "self_attn.o_proj"), queries, c.hidden_size);
  }
  if (!options.targets_part("experts")) return;
  const std::string experts = layer_name(layer, "mlp.experts.");
  if (options.shared_experts) {
    put.experts(experts + "gate_proj", c.hidden_size, c.intermediate_size, 1, e);
    put.experts(experts + "up_proj", c.hidden_size, c.intermediate_size, 1, e);
    put.experts(experts + "down_proj", c.intermediate_size, c.hidden_size, e, 1);
  } else {
    put.experts(experts + "gate_up_proj", c.hidden_size, 2 * c.intermediate_size, e, e);
    put.experts(experts + "down_proj", c.intermediate_size, c.hidden_size, e, e);
  }
}

}  // namespace

LoraAdapter init_adapter(const GptOssConfig& config, const LoraOptions& options, const RngStream& rng) {
  LoraAdapter adapter{options.rank, options.alpha, false, {}};
  Initialiser put(adapter, rng);
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) init_layer(put, config, options, i);
  if (options.targets_part("unembedding")) put.linear("lm_head", config.hidden_size, config.vocab_size);
  if (adapter.empty() || adapter.rank < 1)
    throw Error(ErrorKind::config, "an adapter needs a rank above 0 and at least one target");
  return adapter;
}

LowRank low_rank(const LoraAdapter& adapter, const std::string& module) {
  const auto a = adapter.tensors.find(module + ".lora_A");
  if (a == adapter.tensors.end()) return {};
  return {a->second, adapter.tensors.at(module + ".lora_B"), adapter.scale()};
}

LowRank gate_up_low_rank(const LoraAdapter& adapter, const std::string& experts_module) {
  const LowRank gate = low_rank(adapter, experts_module + ".gate_proj");
  if (!gate.defined()) return low_rank(adapter, experts_module + ".gate_up_proj");
  const LowRank up = low_rank(adapter, experts_module + ".up_proj");
  // Rows 2i of B use the gate's ranks, rows 2i + 1 those of up.
  const at::Tensor gate_rows = at::cat({gate.b, at::zeros_like(gate.b)}, 2);
  const at::Tensor up_rows = at::cat({at::zeros_like(up.b), up.b}, 2);
  const at::Tensor b = at::stack({gate_rows, up_rows}, 2);
  return {at::cat({gate.a, up.a}, 1), b.reshape({b.size(0), 2 * b.size(1), b.size(3)}), gate.scale};
}

at::Tensor add_low_rank(const at::Tensor& y, const at::Tensor& x, const LowRank& pair) {
  if (!pair.defined()) return y;
  const at::Tensor inner = at::linear(x.to(pair.a.scalar_type()), pair.a).mul(pair.scale);
  return y.add(at::linear(inner, pair.b)).to(y.scalar_type());
}

LowRank of_expert(const LowRank& pair, std::int64_t expert) {
  if (!pair.defined()) return {};
  const auto side = [&](const at::Tensor& t) { return t.select(0, t.size(0) == 1 ? 0 : expert); };
  return {side(pair.a), side(pair.b), pair.scale};
}

void add_expert_low_rank(const at::Tensor& y, const at::Tensor& x, const LowRank& pair, std::int64_t expert) {
  if (!pair.defined()) return;
  const LowRank one = of_expert(pair, expert);
  const at::Tensor inner = at::mm(x.to(one.a.scalar_type()), one.a.t());
  if (y.scalar_type() == inner.scalar_type())
    y.addmm_(inner, one.b.t(), 1, one.scale);
  else
    y.copy_(y.to(inner.scalar_type()).addmm_(inner, one.b.t(), 1, one.scale));
}

LowRankGradient zero_gradient(const LowRank& pair) {
  if (!pair.defined()) return {};
  return {at::zeros_like(pair.a), at::zeros_like(pair.b)};
}

void expert_low_rank_backward(const at::Tensor& x, const at::Tensor& d_y, const LowRank& pair, std::int64_t expert,
                              LowRankGradient& gradient) {
  if (!pair.defined()) return;
  const LowRank one = of_expert(pair, expert);
  const LowRank target = of_expert({gradient.d_a, gradient.d_b, 0}, expert);
  const at::Tensor in = x.to(one.a.scalar_type());
  const at::Tensor d_out = d_y.to(one.a.scalar_type());
  target.b.addmm_(d_out.t(), at::mm(in, one.a.t()), 1, one.scale);
  target.a.addmm_(at::mm(d_out, one.b).t(), in, 1, one.scale);
}

void add_expert_input_gradient(const at::Tensor& d_x, const at::Tensor& d_y, const LowRank& pair, std::int64_t expert) {
  if (!pair.defined()) return;
  const LowRank one = of_expert(pair, expert);
  const at::Tensor inner = at::mm(d_y.to(one.a.scalar_type()), one.b);
  if (d_x.scalar_type() == inner.scalar_type())
    d_x.addmm_(inner, one.a, 1, one.scale);
  else
    d_x.copy_(d_x.to(inner.scalar_type()).addmm_(inner, one.a, 1, one.scale));
}

}  // namespace kc
