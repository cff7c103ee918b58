#include "trainer/optimizer_torch.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_svdvals.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/expect_error.h"
#include "tests/trainer/tiny_run.h"

namespace kc {
namespace {

at::Tensor random_tensor(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  at::Tensor tensor = at::empty(shape, at::TensorOptions(at::kFloat));
  RngStream rng(seed);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    tensor.mutable_data_ptr<float>()[i] = static_cast<float>(rng.normal());
  }
  return tensor;
}

NamedParameter parameter(const std::string& name, const at::Tensor& value, const at::Tensor& gradient) {
  value.requires_grad_(true);
  value.mutable_grad() = gradient;
  return {name, value};
}

double largest(const at::Tensor& tensor) { return tensor.detach().abs().max().item().toDouble(); }
double mean_singular_value(const at::Tensor& tensor) {
  return at::linalg_svdvals(tensor.detach()).mean().item().toDouble();
}

TEST(Orthogonalise, BringsSingularValuesNearOneWhateverTheShape) {
  for (const auto& shape : {std::vector<std::int64_t>{3, 24, 24}, {2, 16, 48}, {2, 48, 16}}) {
    const at::Tensor result = orthogonalise(random_tensor(shape, 3).mul(100));
    ASSERT_EQ(result.sizes(), at::IntArrayRef(shape));
    EXPECT_LT(largest(at::linalg_svdvals(result)), 1.3);
    EXPECT_GT(mean_singular_value(result), 0.7);
  }
}

TEST(Orthogonalise, TreatsEveryMatrixOfAStackAlone) {
  const at::Tensor stack = random_tensor({4, 8, 12}, 5);
  const at::Tensor alone = orthogonalise(stack.narrow(0, 2, 1).mul(7));
  EXPECT_LT(largest(orthogonalise(stack).narrow(0, 2, 1).sub(alone)), 1e-4);
}

TEST(Muon, ScalesTallLinearWeightsByTheirShapeButNoExperts) {
  const at::Tensor tall = at::zeros({32, 8}), experts = at::zeros({2, 8, 32});
  auto muon = make_muon({parameter("a.q_proj.weight", tall, random_tensor({32, 8}, 1)),
                         parameter("mlp.experts.gate_up_proj", experts, random_tensor({2, 8, 32}, 2))},
                        {.learning_rate = 0.5, .momentum = 0.95});
  muon->step(1.0);
  EXPECT_NEAR(mean_singular_value(tall), 0.5 * 2, 0.25);
  EXPECT_NEAR(mean_singular_value(experts), 0.5, 0.13);
}

TEST(Muon, StepsAgainstTheGradientScaledByTheFactor) {
  const at::Tensor one = at::zeros({8, 8}), half = at::zeros({8, 8});
  const at::Tensor gradient = random_tensor({8, 8}, 1);
  make_muon({parameter("q", one, gradient)}, {})->step(1.0);
  make_muon({parameter("q", half, gradient)}, {})->step(0.5);
  EXPECT_LT(largest(one.detach().sub(half.detach().mul(2))), 1e-6);
  EXPECT_LT(one.detach().mul(gradient).sum().item().toDouble(), 0);
}

TEST(Adam, FollowsItsFormulaWithBiasCorrection) {
  const at::Tensor value = at::zeros({1});
  auto adam = make_adam({parameter("x", value, at::full({1}, 2.0))}, {0.1, 0.9, 0.95, 1e-8});
  adam->step(1.0);
  EXPECT_NEAR(value.item().toDouble(), -0.1, 1e-6);
  value.mutable_grad() = at::full({1}, -1.0);
  adam->step(1.0);
  const double mean = (0.9 * 0.1 * 2 + 0.1 * -1) / (1 - 0.81);
  const double square = (0.95 * 0.05 * 4 + 0.05 * 1) / (1 - 0.9025);
  EXPECT_NEAR(value.item().toDouble(), -0.1 - 0.1 * mean / std::sqrt(square), 1e-6);
}

TEST(Adam, KeepsStepsThatABfloat16WeightWouldLose) {
  const at::TensorOptions narrow(at::kBFloat16);
  const at::Tensor value = at::full({1}, 1.0, narrow);
  auto adam = make_adam({parameter("x", value, at::full({1}, 1.0, narrow))}, {.learning_rate = 1e-3});
  for (int step = 0; step < 20; ++step) adam->step(1.0);
  EXPECT_NEAR(value.item().toDouble(), 0.98, 4e-3);
}

// Four steps on a matrix and a vector; `reload` moves the state to fresh optimisers in the middle.
std::pair<at::Tensor, at::Tensor> four_steps(bool reload) {
  const at::Tensor matrix = at::zeros({8, 4}), vector = at::zeros({4});
  matrix.requires_grad_(true);
  vector.requires_grad_(true);
  const auto make = [&] {
    std::vector<std::unique_ptr<Optimizer>> parts;
    parts.push_back(make_muon({{"m", matrix}}, {}));
    parts.push_back(make_adam({{"v", vector}}, {}));
    return join_optimizers(std::move(parts));
  };
  auto optimizer = make();
  for (std::uint64_t step = 0; step < 4; ++step) {
    matrix.mutable_grad() = random_tensor({8, 4}, step);
    vector.mutable_grad() = random_tensor({4}, step + 10);
    if (reload && step == 2) {
      auto fresh = make();
      fresh->load_state(optimizer->state());
      optimizer = std::move(fresh);
    }
    optimizer->step(1.0);
  }
  return {matrix, vector};
}

TEST(Optimizers, ContinueExactlyFromTheirState) {
  const auto whole = four_steps(false), resumed = four_steps(true);
  EXPECT_TRUE(whole.first.equal(resumed.first));
  EXPECT_TRUE(whole.second.equal(resumed.second));
}

TEST(Optimizers, RefuseTheStateOfOtherParameters) {
  auto adam = make_adam({{"x", at::zeros({2})}}, {});
  auto other = make_adam({{"x", at::zeros({3})}}, {});
  EXPECT_ERROR(adam->load_state(other->state()), ErrorKind::bad_data, testing::HasSubstr("adam.mean.x"));
  EXPECT_ERROR(adam->load_state({}), ErrorKind::bad_data, testing::HasSubstr("lacks"));
}

TEST(Partition, GivesBlockMatricesToMuonAndNeverTheRouter) {
  const LanguageModel model = test::tiny_model();
  const auto muon = select_parameters(model.weights(), is_muon_parameter);
  EXPECT_EQ(muon.size(), 2U * 6);
  for (const NamedParameter& p : muon) {
    EXPECT_FALSE(is_router_parameter(p.name)) << p.name;
    EXPECT_EQ(p.name.find("bias"), std::string::npos) << p.name;
    EXPECT_EQ(p.name.find("embed"), std::string::npos) << p.name;
  }
  EXPECT_EQ(select_parameters(model.weights(), is_router_parameter).size(), 2U * 2);
}

TEST(ClipGradients, ScalesToTheNormAndReportsTheOneBefore) {
  GptOssWeights weights;
  weights.tensors["a"] = at::zeros({1});
  weights.tensors["b"] = at::zeros({1});
  weights.require_grad(true);
  weights.tensors["a"].mutable_grad() = at::full({1}, 3.0);
  weights.tensors["b"].mutable_grad() = at::full({1}, 4.0);
  EXPECT_NEAR(clip_gradients(weights, 0), 5, 1e-6);
  EXPECT_NEAR(clip_gradients(weights, 1), 5, 1e-6);
  EXPECT_NEAR(clip_gradients(weights, 0), 1, 1e-6);
}

}  // namespace
}  // namespace kc
