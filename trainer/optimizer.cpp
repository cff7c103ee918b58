#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "trainer/optimizer_torch.h"

namespace kc {
namespace {

bool ends_with_any(const std::string& name, std::initializer_list<std::string_view> endings) {
  for (const std::string_view ending : endings) {
    if (name.ends_with(ending)) return true;
  }
  return false;
}

class JoinedOptimizer final : public Optimizer {
 public:
  explicit JoinedOptimizer(std::vector<std::unique_ptr<Optimizer>> parts) : parts_(std::move(parts)) {}

  void step(double factor) override {
    for (const auto& part : parts_) part->step(factor);
  }
  TensorMap state() const override {
    TensorMap joined;
    for (const auto& part : parts_) joined.merge(part->state());
    return joined;
  }
  void load_state(const TensorMap& state) override {
    for (const auto& part : parts_) part->load_state(state);
  }

 private:
  std::vector<std::unique_ptr<Optimizer>> parts_;
};

}  // namespace

std::unique_ptr<Optimizer> join_optimizers(std::vector<std::unique_ptr<Optimizer>> parts) {
  return std::make_unique<JoinedOptimizer>(std::move(parts));
}

bool is_muon_parameter(const std::string& name) {
  return ends_with_any(name, {"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight",
                              "experts.gate_up_proj", "experts.down_proj"});
}

bool is_router_parameter(const std::string& name) { return name.find(".router.") != std::string::npos; }

std::vector<NamedParameter> select_parameters(const GptOssWeights& weights, bool (*wanted)(const std::string& name)) {
  std::vector<NamedParameter> selected;
  for (const auto& [name, value] : weights.trainable()) {
    if (wanted(name) && value.is_floating_point()) selected.push_back({name, value});  // packed experts stay
  }
  if (selected.empty()) throw Error(ErrorKind::internal, "an optimiser was asked for parameters that the model lacks");
  return selected;
}

double clip_gradients(const GptOssWeights& weights, double clip_norm) {
  at::NoGradGuard no_grad;
  double squares = 0;
  for (const auto& [name, value] : weights.trainable()) {
    if (!value.grad().defined()) continue;
    const double norm = value.grad().norm().item().toDouble();
    squares += norm * norm;
  }
  const double total = std::sqrt(squares);
  if (clip_norm > 0 && total > clip_norm) {
    for (const auto& [name, value] : weights.trainable()) {
      if (value.grad().defined()) value.grad().mul_(clip_norm / total);
    }
  }
  return total;
}

void zero_gradients(const GptOssWeights& weights) {
  for (const auto& [name, value] : weights.trainable()) value.mutable_grad() = at::Tensor();
}

}  // namespace kc
