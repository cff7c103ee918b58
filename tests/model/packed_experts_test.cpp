// Experts kept in MXFP4 against the same numbers expanded.
#include <gtest/gtest.h>

#include <cmath>

#include <ATen/ops/empty.h>
#include <ATen/ops/item.h>

#include "model/layers_torch.h"
#include "model/routing_torch.h"
#include "model/sampler_torch.h"
#include "tests/model/torch_support.h"
#include "tests/support/expect_error.h"

namespace kc {
namespace {

constexpr double kE2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

double value_of(int nibble, int scale) { return (nibble >= 8 ? -1 : 1) * std::ldexp(kE2m1[nibble % 8], scale - 127); }

GptOssConfig packable(const std::string& dtype) {
  GptOssConfig c = small_config();
  c.hidden_size = 64;
  c.intermediate_size = 96;
  c.dtype = dtype;
  return c;
}

at::Tensor random_bytes(const std::vector<std::int64_t>& shape, RngStream rng, std::uint64_t from,
                        std::uint64_t count) {
  at::Tensor out = at::empty(shape, at::kByte);
  for (std::int64_t i = 0; i < out.numel(); ++i)
    out.mutable_data_ptr<std::uint8_t>()[i] = static_cast<std::uint8_t>(from + rng.below(count));
  return out;
}

// [E, out, in / 32, 16] and [E, out, in / 32] to [E, in, out], by the definition.
at::Tensor expanded(const at::Tensor& blocks, const at::Tensor& scales, at::ScalarType type) {
  const std::int64_t in = blocks.size(2) * 32;
  at::Tensor out = at::empty({blocks.size(0), in, blocks.size(1)}, at::kDouble);
  const auto b = blocks.accessor<std::uint8_t, 4>();
  const auto s = scales.accessor<std::uint8_t, 3>();
  auto o = out.accessor<double, 3>();
  for (std::int64_t e = 0; e < out.size(0); ++e)
    for (std::int64_t i = 0; i < in; ++i)
      for (std::int64_t j = 0; j < out.size(2); ++j) {
        const int byte = b[e][j][i / 32][i % 32 / 2];
        o[e][i][j] = value_of(i % 2 == 0 ? byte & 15 : byte >> 4, s[e][j][i / 32]);
      }
  return out.to(type);
}

struct Pair {
  GptOssWeights packed, dense;
};

Pair both_forms(const GptOssConfig& c) {
  Pair p;
  p.dense = random_weights(c, 4);
  p.packed = p.dense;
  for (auto& [name, tensor] : p.packed.tensors) tensor = tensor.clone();
  for (std::int64_t layer = 0; layer < c.num_hidden_layers; ++layer)
    for (const auto& [part, in, out] : {std::tuple{"gate_up_proj", c.hidden_size, 2 * c.intermediate_size},
                                        std::tuple{"down_proj", c.intermediate_size, c.hidden_size}}) {
      const std::string name = layer_name(layer, std::string("mlp.experts.") + part);
      const RngStream rng = RngStream(9).child(name);
      const at::Tensor blocks = random_bytes({c.num_local_experts, out, in / 32, 16}, rng.child(1), 0, 256);
      const at::Tensor scales = random_bytes({c.num_local_experts, out, in / 32}, rng.child(2), 120, 6);
      p.packed.tensors.erase(name);
      p.packed.tensors[name + "_blocks"] = blocks;
      p.packed.tensors[name + "_scales"] = scales;
      p.dense.tensors[name] = expanded(blocks, scales, p.dense.tensors.at(name).scalar_type());
    }
  return p;
}

// Scales above 252 give values that are not finite.
TEST(PackedExperts, DecodeExactlyForEveryByteAndEveryScale) {
  at::Tensor blocks = at::empty({1, 16 * 253, 1, 16}, at::kByte);
  at::Tensor scales = at::empty({1, 16 * 253, 1}, at::kByte);
  for (std::int64_t row = 0; row < blocks.size(1); ++row) {
    scales.mutable_data_ptr<std::uint8_t>()[row] = static_cast<std::uint8_t>(row / 16);
    for (std::int64_t i = 0; i < 16; ++i)
      blocks.mutable_data_ptr<std::uint8_t>()[row * 16 + i] = static_cast<std::uint8_t>(row % 16 * 16 + i);
  }
  const ExpertMatrices m{{}, blocks, scales};
  for (const at::ScalarType type : {at::kBFloat16, at::kFloat, at::kDouble})
    for (const bool fast : {true, false}) {
      use_fused_kernels(fast);
      EXPECT_TRUE(m.of(0, type).equal(expanded(blocks, scales, type)[0])) << type << fast;
      use_fused_kernels(true);
    }
}

class PackedExpertsIn : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  PackedExpertsIn() { use_fused_kernels(std::get<1>(GetParam())); }
  ~PackedExpertsIn() override { use_fused_kernels(true); }
};

TEST_P(PackedExpertsIn, GiveTheLogitsAndSamplesOfExpandedOnesBitForBit) {
  const GptOssConfig c = packable(std::get<0>(GetParam()));
  const Pair p = both_forms(c);
  const at::Tensor ids = random_ids(2, 40, c.vocab_size, 3);
  EXPECT_TRUE(all_logits(c, p.packed, full_batch(ids)).equal(all_logits(c, p.dense, full_batch(ids))));
  const std::vector<SampleRequest> requests = {{{1, 2, 3}, 4, RngStream(1)}};
  const auto a = make_gpt_oss_sampler(c, p.packed)->sample(requests, {}, {});
  const auto b = make_gpt_oss_sampler(c, p.dense)->sample(requests, {}, {});
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(a[0][i].tokens, b[0][i].tokens);
    EXPECT_EQ(a[0][i].logprobs, b[0][i].logprobs);
  }
}

TEST_P(PackedExpertsIn, PassTheGradientsOfExpandedOnesAndTakeNone) {
  const GptOssConfig c = packable(std::get<0>(GetParam()));
  Pair p = both_forms(c);
  const at::Tensor ids = random_ids(2, 40, c.vocab_size, 3);
  for (GptOssWeights* w : {&p.packed, &p.dense}) {
    w->require_grad(true);
    next_token_loss(all_logits(c, *w, full_batch(ids)), ids).backward();
  }
  for (const auto& [name, tensor] : p.packed.tensors) {
    if (!tensor.is_floating_point()) {
      EXPECT_FALSE(tensor.requires_grad()) << name;
    } else {
      EXPECT_TRUE(tensor.grad().equal(p.dense.tensors.at(name).grad())) << name;
    }
  }
}

struct LoraCase {
  std::vector<std::string> targets;
  bool shared;
};

// Adapter over packed experts and over the same expanded: equal numbers in logits, samples and the adapter's gradients.
TEST_P(PackedExpertsIn, CarryAnAdapterAsExpandedOnesDoBitForBit) {
  const GptOssConfig c = packable(std::get<0>(GetParam()));
  const at::Tensor ids = random_ids(2, 40, c.vocab_size, 3);
  const std::vector<std::string> all = {"attention", "experts", "unembedding"};
  for (const LoraCase& lora : {LoraCase{all, true}, {all, false}, {{"attention"}, true}, {{"experts"}, false}}) {
    SCOPED_TRACE(lora.targets.front() + (lora.shared ? ", shared" : ", per expert"));
    Pair p = both_forms(c);
    LoraOptions options;
    options.rank = 3;
    options.targets = lora.targets;
    options.shared_experts = lora.shared;
    const at::Tensor without = all_logits(c, p.packed, full_batch(ids));
    std::map<std::string, at::Tensor> gradients[2];
    at::Tensor logits[2];
    std::vector<TokenId> sampled[2];
    for (const int i : {0, 1}) {
      GptOssWeights& w = i == 0 ? p.packed : p.dense;
      w.adapter = random_adapter(c, options, 6);
      sampled[i] = make_gpt_oss_sampler(c, w)
                       ->sample(std::vector<SampleRequest>{{{1, 2, 3}, 1, RngStream(1)}}, {}, {})[0][0]
                       .tokens;
      w.require_grad(true);
      logits[i] = all_logits(c, w, full_batch(ids));
      next_token_loss(logits[i], ids).backward();
      for (const auto& [name, tensor] : w.tensors) EXPECT_FALSE(tensor.requires_grad()) << name;
      for (const auto& [name, tensor] : w.adapter.tensors) gradients[i][name] = tensor.grad();
    }
    EXPECT_TRUE(logits[0].equal(logits[1]));
    EXPECT_GT(relative_error(logits[0], without), 1e-2);
    EXPECT_EQ(sampled[0], sampled[1]);
    for (const auto& [name, gradient] : gradients[0]) {
      EXPECT_TRUE(gradient.equal(gradients[1].at(name))) << name;
      EXPECT_GT(gradient.abs().max().item<double>(), 0) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, PackedExpertsIn,
                         testing::Combine(testing::Values("float32", "bfloat16"), testing::Bool()),
                         [](const auto& param_info) {
                           return std::string(std::get<0>(param_info.param)) +
                                  (std::get<1>(param_info.param) ? "_fused" : "_plain");
                         });

TEST(FrozenExperts, GetNoGradientAndChangeNoOther) {
  const GptOssConfig c = small_config();
  std::map<std::string, at::Tensor> all;
  const at::Tensor ids = random_ids(2, 30, c.vocab_size, 3);
  for (const bool frozen : {false, true}) {
    GptOssWeights w = random_weights(c, 4);
    w.require_grad(true);
    if (frozen)
      for (auto& [name, tensor] : w.tensors)
        if (name.find("experts") != std::string::npos) tensor.requires_grad_(false);
    next_token_loss(all_logits(c, w, full_batch(ids)), ids).backward();
    for (const auto& [name, tensor] : w.tensors) {
      if (!frozen)
        all[name] = tensor.grad();
      else if (name.find("experts") != std::string::npos)
        EXPECT_FALSE(tensor.grad().defined()) << name;
      else
        EXPECT_TRUE(tensor.grad().equal(all.at(name))) << name;
    }
  }
}

TEST(RoutingProbe, PrescribesExpertsAndTellsThoseTaken) {
  const GptOssConfig c = small_config();
  const GptOssWeights w = random_weights(c, 4);
  const at::Tensor ids = random_ids(1, 30, c.vocab_size, 3);
  std::vector<at::Tensor> own;
  at::Tensor free;
  {
    const RoutingProbe probe;
    free = all_logits(c, w, full_batch(ids));
    own = probe.taken();
  }
  ASSERT_EQ(own.size(), 3U);
  std::vector<at::Tensor> other = own;
  other[1] = own[1].add(1).remainder(c.num_local_experts);
  for (const bool fast : {true, false}) {
    use_fused_kernels(fast);
    {
      const RoutingProbe probe(own);
      EXPECT_LE(relative_error(all_logits(c, w, full_batch(ids)), free), 1e-5);
    }
    {
      const RoutingProbe probe(other);
      EXPECT_GT(relative_error(all_logits(c, w, full_batch(ids)), free), 1e-3);
      EXPECT_TRUE(probe.taken()[1].equal(other[1]));
    }
    other[1][3][0] = c.num_local_experts;
    const RoutingProbe probe(other);
    EXPECT_ERROR(all_logits(c, w, full_batch(ids)), ErrorKind::internal, testing::HasSubstr("expert numbers"));
    other[1][3][0] = 0;
    use_fused_kernels(true);
  }
}

}  // namespace
}  // namespace kc
