#include <algorithm>
#include <cmath>

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include "model/lora_files_torch.h"

namespace kc {

std::vector<AdaptedModule> adaptable_modules(const GptOssConfig& c) {
  const std::int64_t queries = c.num_attention_heads * c.head_dim;
  const std::int64_t keys = c.num_key_value_heads * c.head_dim;
  std::vector<AdaptedModule> modules;
  for (std::int64_t i = 0; i < c.num_hidden_layers; ++i) {
    modules.push_back({layer_name(i, "self_attn.q_proj"), c.hidden_size, queries});
    modules.push_back({layer_name(i, "self_attn.k_proj"), c.hidden_size, keys});
    modules.push_back({layer_name(i, "self_attn.v_proj"), c.hidden_size, keys});
    modules.push_back({layer_name(i, "self_attn.o_proj"), queries, c.hidden_size});
    modules.push_back({layer_name(i, "mlp.experts.gate_up_proj"), c.hidden_size, 2 * c.intermediate_size, true});
    modules.push_back({layer_name(i, "mlp.experts.down_proj"), c.intermediate_size, c.hidden_size, true});
  }
  modules.push_back({"lm_head", c.hidden_size, c.vocab_size});
  return modules;
}

LowRank pack_experts(const LowRank& pair) {
  return {pair.a.reshape({-1, pair.a.size(2)}), pair.b.permute({1, 2, 0}).reshape({pair.b.size(1), -1}), pair.scale};
}

LowRank unpack_experts(const LowRank& packed, std::int64_t experts, bool transposed) {
  const at::Tensor by_expert = packed.a.view({experts, -1, packed.a.size(1)});  // [E, r, columns]
  const at::Tensor by_rank = packed.b.view({packed.b.size(0), -1, experts});    // [rows, r, E]
  if (transposed)
    return {by_rank.permute({2, 1, 0}).contiguous(), by_expert.permute({0, 2, 1}).contiguous(), packed.scale};
  return {by_expert.contiguous(), by_rank.permute({2, 0, 1}).contiguous(), packed.scale};
}

AdapterLayout natural_layout(const LoraAdapter& adapter) {
  for (const auto& [name, tensor] : adapter.tensors)
    if (name.find(".gate_proj.") != std::string::npos || (tensor.dim() == 3 && tensor.size(0) == 1))
      return AdapterLayout::tinker;
  return AdapterLayout::peft;
}

namespace {

at::Tensor padded(const at::Tensor& t, std::int64_t dim, std::int64_t size) {
  if (t.size(dim) == size) return t;
  std::vector<std::int64_t> rest = t.sizes().vec();
  rest[static_cast<std::size_t>(dim)] = size - t.size(dim);
  return at::cat({t, at::zeros(rest, t.options())}, dim);
}

}  // namespace

LoraAdapter peft_form(const LoraAdapter& adapter, const GptOssConfig& config) {
  if (natural_layout(adapter) == AdapterLayout::peft) return adapter;
  const bool doubled = std::any_of(adapter.tensors.begin(), adapter.tensors.end(), [](const auto& entry) {
    return entry.first.find(".gate_proj.") != std::string::npos;
  });
  LoraAdapter out{doubled ? 2 * adapter.rank : adapter.rank, adapter.alpha, adapter.rank_stabilised, {}};
  if (doubled) out.alpha *= adapter.rank_stabilised ? std::sqrt(2.0) : 2.0;
  const std::int64_t e = config.num_local_experts;
  for (const AdaptedModule& module : adaptable_modules(config)) {
    const std::string experts = module.name.substr(0, module.name.rfind('.'));
    const LowRank pair =
        module.name.ends_with(".gate_up_proj") ? gate_up_low_rank(adapter, experts) : low_rank(adapter, module.name);
    if (!pair.defined()) continue;
    const std::int64_t dim = module.experts ? 1 : 0;
    at::Tensor a = padded(pair.a.detach(), dim, out.rank);
    at::Tensor b = padded(pair.b.detach(), dim + 1, out.rank);
    if (module.experts) {
      a = a.expand({e, -1, -1});
      b = b.expand({e, -1, -1});
    }
    out.tensors[module.name + ".lora_A"] = a.contiguous();
    out.tensors[module.name + ".lora_B"] = b.contiguous();
  }
  return out;
}

}  // namespace kc
