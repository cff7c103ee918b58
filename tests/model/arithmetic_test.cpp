#include <gtest/gtest.h>

#include <cmath>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "model/cpu_kernels.h"
#include "model/layers_torch.h"
#include "tests/model/torch_support.h"

namespace kc {
namespace {

struct PlainOperators {
  PlainOperators() { use_fused_kernels(false); }
  ~PlainOperators() { use_fused_kernels(true); }
};

TEST(Swiglu, GivesTheDocumentedValuesWithinAndBeyondItsClamps) {
  const float gate_up[] = {8, -9, -3, 0.5F, 1, 0};
  float out[3];
  cpu_kernels<float>().swiglu(gate_up, out, 1, {3, 1.702, 7.0});
  EXPECT_NEAR(out[0], -41.9997188, 1e-5);
  EXPECT_NEAR(out[1], -0.0271069646, 1e-8);
  EXPECT_NEAR(out[2], 0.845795766, 1e-7);
}

TEST(Swiglu, PassesNoGradientBeyondItsClamps) {
  const float gate_up[] = {8, -9, -30, 0.5F, 1, 7.5F};
  const float d_act[] = {1, 1, 1};
  const float weight[] = {1};
  float d_gate_up[6];
  float weighted[3];
  float d_weight[1];
  cpu_kernels<float>().swiglu_backward(gate_up, d_act, weight, d_gate_up, weighted, d_weight, 1, {3, 1.702, 7.0});
  EXPECT_EQ(d_gate_up[0], 0);
  EXPECT_EQ(d_gate_up[1], 0);
  EXPECT_NE(d_gate_up[2], 0) << "the gate has no lower bound";
  EXPECT_NE(d_gate_up[4], 0);
  EXPECT_EQ(d_gate_up[5], 0);
}

TEST(Rope, InverseFrequenciesHaveTheDocumentedValues) {
  GptOssConfig c;
  c.head_dim = 64;
  const at::Tensor inverse = rope_inverse_frequencies(c);
  const std::pair<int, double> known[] = {{0, 1},
                                          {1, 0.689044306},
                                          {8, 0.0508132748},
                                          {9, 0.0317056962},
                                          {12, 0.00679495949},
                                          {17, 1.29318701e-4},
                                          {18, 3.83088124e-5},
                                          {31, 3.02351143e-7}};
  for (const auto& [i, value] : known) EXPECT_NEAR(inverse[i].item<double>() / value, 1, 2e-6) << i;
  EXPECT_NEAR(rope_magnitude(c), 1.3465735902799727, 1e-12);
}

TEST(Rope, ClampsTheRangeOfSmallOriginalContexts) {
  GptOssConfig c;
  c.head_dim = 64;
  c.original_max_position_embeddings = 64;
  const at::Tensor inverse = rope_inverse_frequencies(c);
  // low < 0 is clamped to 0, so the first frequency is kept whole.
  EXPECT_FLOAT_EQ(inverse[0].item<float>(), 1.0F);
  const double high = 64 * std::log(64 / (2 * M_PI)) / (2 * std::log(150000.0));
  const double ramp = 1 / high;
  const double kept = std::pow(150000.0, -2.0 / 64);
  EXPECT_NEAR(inverse[1].item<double>(), kept / 32 * ramp + kept * (1 - ramp), 1e-6);
}

TEST(Attention, SeesExactlyTheWindow) {
  GptOssConfig c = small_config();
  c.num_hidden_layers = 1;
  c.sliding_layers = {true};
  const GptOssWeights weights = random_weights(c, 1);
  const at::Tensor ids = random_ids(1, 20, c.vocab_size, 2);
  at::Tensor changed = ids.clone();
  changed[0][4] = (ids[0][4].item<std::int64_t>() + 1) % c.vocab_size;
  const at::Tensor difference =
      all_logits(c, weights, full_batch(ids)).sub(all_logits(c, weights, full_batch(changed))).abs().amax(2)[0];
  for (std::int64_t t = 0; t < 20; ++t) {
    if (t >= 4 && t < 4 + c.sliding_window)
      EXPECT_GT(difference[t].item<double>(), 0) << t;
    else
      EXPECT_EQ(difference[t].item<double>(), 0) << t;
  }
}

TEST(Padding, ChangesNoOtherPosition) {
  const GptOssConfig c = small_config();
  const GptOssWeights weights = random_weights(c, 1);
  const at::Tensor ids = random_ids(3, 30, c.vocab_size, 2);
  const at::Tensor lengths = at::tensor({30L, 7L, 19L}, at::kLong);
  const at::Tensor padded = all_logits(c, weights, {ids, lengths});
  EXPECT_TRUE(padded.isfinite().all().item<bool>());
  double worst = 0;
  for (std::int64_t b = 0; b < 3; ++b) {
    const std::int64_t n = lengths[b].item<std::int64_t>();
    const at::Tensor alone = all_logits(c, weights, full_batch(ids.narrow(0, b, 1).narrow(1, 0, n)));
    const double error = relative_error(padded[b].narrow(0, 0, n), alone[0]);
    EXPECT_LE(error, 1e-5) << b;
    worst = std::max(worst, error);
  }
  print_worst("packed beside others against alone, logits", worst, 1e-5);
  at::Tensor other = ids.clone();
  other.narrow(0, 1, 1).narrow(1, 7, 23).fill_(5);
  EXPECT_TRUE(padded.narrow(1, 0, 7).equal(all_logits(c, weights, {other, lengths}).narrow(1, 0, 7)));
}

TEST(Batch, OrderOfSequencesDoesNotMatter) {
  const GptOssConfig c = small_config();
  const GptOssWeights weights = random_weights(c, 1);
  const at::Tensor ids = random_ids(4, 25, c.vocab_size, 2);
  const at::Tensor order = at::tensor({2L, 0L, 3L, 1L}, at::kLong);
  const at::Tensor straight = all_logits(c, weights, full_batch(ids));
  const at::Tensor mixed = all_logits(c, weights, full_batch(ids.index_select(0, order)));
  const double error = relative_error(mixed, straight.index_select(0, order));
  EXPECT_LE(error, 1e-5);
  print_worst("batch in another order, logits", error, 1e-5);
}

TEST(Forward, TwoRunsAreEqualBitForBit) {
  const GptOssConfig c = small_config();
  std::vector<std::map<std::string, at::Tensor>> runs;
  for (int i = 0; i < 2; ++i) {
    GptOssWeights weights = random_weights(c, 1);
    weights.require_grad(true);
    const at::Tensor ids = random_ids(6, 70, c.vocab_size, 2);
    next_token_loss(all_logits(c, weights, full_batch(ids)), ids).backward();
    runs.push_back(gradients(weights));
  }
  for (const auto& [name, gradient] : runs[0]) EXPECT_TRUE(gradient.equal(runs[1].at(name))) << name;
}

GptOssWeights in_double(const GptOssWeights& weights) {
  GptOssWeights out;
  for (const auto& [name, tensor] : weights.tensors) out.tensors[name] = tensor.to(at::kDouble);
  return out;
}

double loss_at(const GptOssConfig& c, const GptOssWeights& w, const at::Tensor& ids, const at::Tensor& lengths) {
  const at::NoGradGuard no_grad;
  return all_logits(c, w, {ids, lengths}).narrow(1, 0, 9).mul(0.37).sin().sum().item<double>();
}

// Central differences in double precision along one random direction per tensor.
TEST(Gradients, OfTheFusedKernelsMatchFiniteDifferences) {
  GptOssConfig c = small_config();
  c.num_hidden_layers = 2;
  GptOssWeights weights = in_double(random_weights(c, 4));
  const at::Tensor ids = random_ids(2, 80, c.vocab_size, 9);
  const at::Tensor lengths = at::tensor({80L, 9L}, at::kLong);
  weights.require_grad(true);
  all_logits(c, weights, {ids, lengths}).narrow(1, 0, 9).mul(0.37).sin().sum().backward();
  const auto grads = gradients(weights);
  weights.require_grad(false);
  for (auto& [name, tensor] : weights.tensors) {
    at::Tensor direction = at::zeros(tensor.sizes(), at::kDouble);
    RngStream rng = RngStream(8).child(name);
    for (std::int64_t i = 0; i < direction.numel(); ++i) direction.mutable_data_ptr<double>()[i] = rng.normal();
    const at::Tensor kept = tensor.clone();
    constexpr double kStep = 1e-7;
    tensor.copy_(kept.add(direction, kStep));
    const double up = loss_at(c, weights, ids, lengths);
    tensor.copy_(kept.sub(direction, kStep));
    const double down = loss_at(c, weights, ids, lengths);
    tensor.copy_(kept);
    const double along = grads.at(name).mul(direction).sum().item<double>();
    EXPECT_NEAR((up - down) / (2 * kStep), along, 1e-5 * std::max(1.0, std::abs(along))) << name;
  }
}

// The long one is more than a matrix of scores of the plain operators.
TEST(Gradients, OfTheFusedKernelsMatchThePlainOperators) {
  for (const bool tied : {false, true}) {
    GptOssConfig c = small_config();
    c.tie_word_embeddings = tied;
    c.num_local_experts = 9;
    c.num_experts_per_tok = 3;
    const at::Tensor ids = tied ? random_ids(3, 150, c.vocab_size, 9) : random_ids(1, 1100, c.vocab_size, 9);
    std::map<std::string, at::Tensor> grads[2];
    at::Tensor logits[2];
    for (const int plain : {0, 1}) {
      use_fused_kernels(plain == 0);
      GptOssWeights weights = in_double(random_weights(c, 4));
      weights.require_grad(true);
      logits[plain] = all_logits(c, weights, full_batch(ids));
      next_token_loss(logits[plain], ids).backward();
      grads[plain] = gradients(weights);
      use_fused_kernels(true);
    }
    EXPECT_LE(relative_error(logits[0], logits[1]), 1e-12);
    for (const auto& [name, gradient] : grads[0]) EXPECT_LE(relative_error(gradient, grads[1].at(name)), 1e-10) << name;
  }
}

TEST(Bfloat16, AgreesLooselyWithFp32InBothImplementations) {
  GptOssConfig c = small_config();
  c.hidden_size = 64;
  c.num_experts_per_tok = c.num_local_experts;  // no router ties that rounding could flip
  c.dtype = "bfloat16";
  GptOssWeights half = random_weights(c, 4);
  GptOssWeights single;
  for (const auto& [name, tensor] : half.tensors) single.tensors[name] = tensor.to(at::kFloat);
  const at::Tensor ids = random_ids(2, 40, c.vocab_size, 9);
  half.require_grad(true);
  single.require_grad(true);
  const at::Tensor exact = all_logits(c, single, full_batch(ids));
  next_token_loss(exact, ids).backward();
  const at::Tensor loose = all_logits(c, half, full_batch(ids));
  EXPECT_EQ(loose.scalar_type(), at::kFloat);
  EXPECT_LE(relative_error(loose, exact), 0.05);
  next_token_loss(loose, ids).backward();
  for (const auto& [name, gradient] : gradients(half)) {
    EXPECT_EQ(gradient.scalar_type(), at::kBFloat16);
    const at::Tensor wanted = single.tensors.at(name).grad();
    EXPECT_LE(gradient.sub(wanted).norm().item<double>(), 0.2 * wanted.norm().item<double>()) << name;
  }
  const PlainOperators plain;
  EXPECT_LE(relative_error(all_logits(c, half, full_batch(ids)), exact), 0.05);
}

TEST(Kernels, ExponentialIsAccurateOverItsWholeRange) {
  std::vector<float> x;
  for (float v = -80; v <= 0; v += 0.037F) x.push_back(v);
  std::vector<float> out(x.size());
  float sum = 0;
  x.push_back(0);
  out.push_back(0);
  attention_kernels<float>().exp_row(x.data(), 1.0F, out.data(), static_cast<std::int64_t>(x.size()), &sum);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(out[i] / std::exp(static_cast<double>(x[i])), 1, 3e-7) << x[i];
}

TEST(InitialWeights, HaveTheDocumentedDeviations) {
  GptOssConfig c = small_config();
  c.hidden_size = 100;
  const GptOssWeights w = init_weights(c, RngStream(1));
  EXPECT_EQ(w.tensors.size(), weight_shapes(c).size());
  EXPECT_NEAR(w.tensors.at("model.embed_tokens.weight").std().item<double>(), 0.1, 0.005);
  EXPECT_NEAR(w.tensors.at("model.layers.0.mlp.experts.down_proj").std().item<double>(), 0.1 / std::sqrt(6.0), 0.002);
  EXPECT_EQ(w.tensors.at("model.layers.0.self_attn.sinks").abs().max().item<double>(), 0);
  EXPECT_TRUE(w.tensors.at("model.norm.weight").equal(at::ones({100}, at::kFloat)));
  std::int64_t count = 0;
  for (const auto& [name, tensor] : w.tensors) count += tensor.numel();
  EXPECT_EQ(count, c.parameter_count());
}

}  // namespace
}  // namespace kc
