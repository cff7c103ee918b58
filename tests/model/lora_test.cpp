// Low-rank adapters: what they compute, their gradients, and that the base is left alone.
#include <gtest/gtest.h>

#include <cmath>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "model/layers_torch.h"
#include "model/sampler_torch.h"
#include "tests/model/torch_support.h"

namespace kc {
namespace {

enum class Layout { shared, per_expert };

LoraOptions options_of(Layout layout) {
  LoraOptions o;
  o.rank = 3;
  o.alpha = 5;
  o.shared_experts = layout == Layout::shared;
  return o;
}

GptOssWeights with_adapter(const GptOssConfig& config, const LoraOptions& options) {
  GptOssWeights weights = random_weights(config, 4);
  weights.adapter = random_adapter(config, options, 6);
  return weights;
}

GptOssWeights in_type(const GptOssWeights& weights, at::ScalarType base, at::ScalarType adapter) {
  GptOssWeights out = weights;
  for (auto& [name, tensor] : out.tensors) tensor = tensor.to(base);
  for (auto& [name, tensor] : out.adapter.tensors) tensor = tensor.to(adapter);
  return out;
}

// What gpt-oss.md section 6 writes down, with whole matrices: W + s B A, gate deltas in even columns, up in odd ones.
GptOssWeights folded(const GptOssConfig& config, const GptOssWeights& weights) {
  GptOssWeights out{weights.tensors};
  const LoraAdapter& adapter = weights.adapter;
  const double s = adapter.alpha / static_cast<double>(adapter.rank);
  const auto delta = [&](const std::string& module) {
    const at::Tensor a = adapter.tensors.at(module + ".lora_A").to(at::kDouble);
    const at::Tensor b = adapter.tensors.at(module + ".lora_B").to(at::kDouble);
    if (a.dim() == 2) return b.mm(a).mul(s);
    const std::int64_t e = config.num_local_experts;
    return at::einsum("eor,eri->eio", {b.expand({e, -1, -1}), a.expand({e, -1, -1})}).mul(s);
  };
  const auto add = [&](const std::string& tensor, const at::Tensor& d) {
    at::Tensor& w = out.tensors.at(tensor);
    w = w.to(at::kDouble).add(d).to(w.scalar_type());
  };
  for (const auto& [name, tensor] : adapter.tensors) {
    if (!name.ends_with(".lora_A")) continue;
    const std::string module = name.substr(0, name.size() - 7);
    const std::string experts = module.substr(0, module.rfind('.') + 1);
    if (module.ends_with("gate_proj") || module.ends_with("up_proj") || module.ends_with("gate_up_proj")) {
      const at::Tensor d = delta(module);
      at::Tensor& w = out.tensors.at(experts + "gate_up_proj");
      at::Tensor wide = w.to(at::kDouble);
      if (module.ends_with("gate_up_proj"))
        wide.add_(d);
      else
        wide.view({w.size(0), w.size(1), -1, 2}).select(3, module.ends_with("gate_proj") ? 0 : 1).add_(d);
      w = wide.to(w.scalar_type());
    } else {
      add(module.ends_with("down_proj") ? module : module + ".weight", delta(module));
    }
  }
  return out;
}

class Lora : public testing::TestWithParam<std::tuple<Layout, bool>> {
 protected:
  Lora() { use_fused_kernels(std::get<1>(GetParam())); }
  ~Lora() override { use_fused_kernels(true); }
  LoraOptions options() const { return options_of(std::get<0>(GetParam())); }
};

TEST_P(Lora, AFreshAdapterChangesNothing) {
  const GptOssConfig c = small_config();
  GptOssWeights weights = random_weights(c, 4);
  const at::Tensor ids = random_ids(2, 40, c.vocab_size, 9);
  const at::Tensor before = all_logits(c, weights, full_batch(ids));
  weights.adapter = init_adapter(c, options(), RngStream(2));
  EXPECT_TRUE(all_logits(c, weights, full_batch(ids)).equal(before));
}

TEST_P(Lora, AddsTheFoldedMatrices) {
  const GptOssConfig c = small_config();
  const GptOssWeights weights = in_type(with_adapter(c, options()), at::kDouble, at::kDouble);
  const at::Tensor ids = random_ids(2, 40, c.vocab_size, 9);
  const at::Tensor adapted = all_logits(c, weights, full_batch(ids));
  EXPECT_LE(relative_error(adapted, all_logits(c, folded(c, weights), full_batch(ids))), 1e-12);
  EXPECT_GT(relative_error(adapted, all_logits(c, {weights.tensors}, full_batch(ids))), 0.1);
}

TEST_P(Lora, FoldedMatricesAgreeInFp32) {
  const GptOssConfig c = small_config();
  const GptOssWeights weights = with_adapter(c, options());
  const at::Tensor ids = random_ids(2, 40, c.vocab_size, 9);
  EXPECT_LE(relative_error(all_logits(c, weights, full_batch(ids)), all_logits(c, folded(c, weights), full_batch(ids))),
            1e-5);
}

double loss_at(const GptOssConfig& c, const GptOssWeights& w, const at::Tensor& ids) {
  const at::NoGradGuard no_grad;
  return all_logits(c, w, full_batch(ids)).mul(0.37).sin().sum().item<double>();
}

// Central differences in double precision along one random direction per tensor.
TEST_P(Lora, GradientsMatchFiniteDifferences) {
  GptOssConfig c = small_config();
  c.num_hidden_layers = 2;
  GptOssWeights weights = in_type(with_adapter(c, options()), at::kDouble, at::kDouble);
  const at::Tensor ids = random_ids(2, 30, c.vocab_size, 9);
  weights.require_grad(true);
  all_logits(c, weights, full_batch(ids)).mul(0.37).sin().sum().backward();
  for (const auto& [name, tensor] : weights.tensors) EXPECT_FALSE(tensor.grad().defined()) << name;
  weights.require_grad(false);
  for (auto& [name, tensor] : weights.adapter.tensors) {
    ASSERT_TRUE(tensor.grad().defined()) << name;
    at::Tensor direction = at::zeros(tensor.sizes(), at::kDouble);
    RngStream rng = RngStream(8).child(name);
    for (std::int64_t i = 0; i < direction.numel(); ++i) direction.mutable_data_ptr<double>()[i] = rng.normal();
    const at::Tensor kept = tensor.clone();
    constexpr double kStep = 1e-7;
    tensor.copy_(kept.add(direction, kStep));
    const double up = loss_at(c, weights, ids);
    tensor.copy_(kept.sub(direction, kStep));
    const double down = loss_at(c, weights, ids);
    tensor.copy_(kept);
    const double along = tensor.grad().mul(direction).sum().item<double>();
    EXPECT_NEAR((up - down) / (2 * kStep), along, 1e-5 * std::max(1.0, std::abs(along))) << name;
  }
}

TEST_P(Lora, WorksOverABfloat16BaseWithoutRoundingTheAdapter) {
  GptOssConfig c = small_config();
  c.num_experts_per_tok = c.num_local_experts;  // no router ties that rounding could flip
  const GptOssWeights narrow = in_type(with_adapter(c, options()), at::kBFloat16, at::kFloat);
  const GptOssWeights wide = in_type(narrow, at::kFloat, at::kFloat);
  const at::Tensor ids = random_ids(2, 40, c.vocab_size, 9);
  const at::Tensor exact = all_logits(c, wide, full_batch(ids));
  const auto deviation = [&](const at::Tensor& logits) { return logits.sub(exact).norm().item<double>(); };
  const double of_adapter = deviation(all_logits(c, narrow, full_batch(ids)));
  // A folded bf16 model rounds its matrices as well: the adapter beside the base must not be worse.
  EXPECT_LE(of_adapter, 1.2 * deviation(all_logits(c, folded(c, narrow), full_batch(ids))));
  EXPECT_LE(of_adapter, 0.1 * exact.norm().item<double>());
}

TEST_P(Lora, TheSamplerReadsTheAdapter) {
  const GptOssConfig c = small_config();
  const GptOssWeights weights = with_adapter(c, options());
  const GptOssWeights merged = folded(c, weights);
  SamplingOptions greedy;
  greedy.temperature = 0;
  greedy.max_new_tokens = 20;
  const SampleRequest request{{3, 17, 4, 30, 8}};
  const auto of = [&](const GptOssWeights& w) {
    return make_gpt_oss_sampler(c, w)->sample(std::vector<SampleRequest>{request}, greedy, {})[0][0].tokens;
  };
  EXPECT_EQ(of(weights), of(merged));
  EXPECT_NE(of(weights), of({weights.tensors}));
}

INSTANTIATE_TEST_SUITE_P(Layouts, Lora,
                         testing::Combine(testing::Values(Layout::shared, Layout::per_expert), testing::Bool()),
                         [](const auto& param_info) {
                           return std::string(std::get<0>(param_info.param) == Layout::shared ? "shared"
                                                                                              : "per_expert") +
                                  (std::get<1>(param_info.param) ? "_fused" : "_plain");
                         });

TEST(LoraGradients, OfTheFusedKernelsMatchThePlainOperators) {
  for (const Layout layout : {Layout::shared, Layout::per_expert}) {
    const GptOssConfig c = small_config();
    const at::Tensor ids = random_ids(3, 100, c.vocab_size, 9);
    std::map<std::string, at::Tensor> grads[2];
    for (const int plain : {0, 1}) {
      use_fused_kernels(plain == 0);
      GptOssWeights weights = in_type(with_adapter(c, options_of(layout)), at::kDouble, at::kDouble);
      weights.require_grad(true);
      next_token_loss(all_logits(c, weights, full_batch(ids)), ids).backward();
      for (const auto& [name, tensor] : weights.trainable()) grads[plain][name] = tensor.grad().clone();
      use_fused_kernels(true);
    }
    ASSERT_FALSE(grads[0].empty());
    for (const auto& [name, gradient] : grads[0]) EXPECT_LE(relative_error(gradient, grads[1].at(name)), 1e-10) << name;
  }
}

TEST(LoraInit, AIsUniformWithinTheInverseRootOfItsInputsAndBIsZero) {
  GptOssConfig c = small_config();
  c.hidden_size = 256;
  LoraOptions o = options_of(Layout::shared);
  o.rank = 32;
  const LoraAdapter adapter = init_adapter(c, o, RngStream(1));
  const at::Tensor a = adapter.tensors.at("model.layers.1.self_attn.q_proj.lora_A");
  EXPECT_LE(a.abs().max().item<double>(), 1.0 / 16);
  EXPECT_GT(a.abs().max().item<double>(), 0.99 / 16);
  EXPECT_NEAR(a.std().item<double>(), 1.0 / 16 / std::sqrt(3.0), 0.02 / 16);
  for (const auto& [name, tensor] : adapter.tensors) {
    if (name.ends_with("lora_B")) {
      EXPECT_EQ(tensor.abs().max().item<double>(), 0) << name;
    }
  }
  EXPECT_EQ(adapter.tensors.at("model.layers.0.mlp.experts.gate_proj.lora_A").sizes(), at::IntArrayRef({1, 32, 256}));
  EXPECT_EQ(adapter.tensors.at("model.layers.0.mlp.experts.down_proj.lora_B").sizes(), at::IntArrayRef({1, 256, 32}));
}

TEST(LoraInit, FollowsTheTargetsAndNeverTouchesTheRouter) {
  const GptOssConfig c = small_config();
  LoraOptions o = options_of(Layout::per_expert);
  const auto count = [&](std::vector<std::string> targets) {
    o.targets = std::move(targets);
    return init_adapter(c, o, RngStream(1)).tensors.size();
  };
  const std::size_t attention = static_cast<std::size_t>(c.num_hidden_layers) * 8;
  const std::size_t experts = static_cast<std::size_t>(c.num_hidden_layers) * 4;
  EXPECT_EQ(count({"attention"}), attention);
  EXPECT_EQ(count({"experts"}), experts);
  EXPECT_EQ(count({"unembedding"}), 2U);
  EXPECT_EQ(count({"attention", "experts", "unembedding"}), attention + experts + 2);
  for (const auto& [name, tensor] : init_adapter(c, o, RngStream(1)).tensors)
    EXPECT_EQ(name.find("router"), std::string::npos);
}

}  // namespace
}  // namespace kc
