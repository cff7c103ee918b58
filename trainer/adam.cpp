#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>

#include <cmath>

#include "trainer/optimizer_state_torch.h"
#include "trainer/optimizer_torch.h"

namespace kc {
namespace {

class Adam final : public Optimizer {
 public:
  Adam(const std::vector<NamedParameter>& parameters, const AdamOptions& options) : options_(options) {
    for (const NamedParameter& parameter : parameters) {
      Slot slot{parameter, zero_state(parameter), zero_state(parameter), {}};
      if (parameter.value.scalar_type() != at::kFloat) slot.master = parameter.value.detach().to(at::kFloat);
      slots_.push_back(std::move(slot));
    }
  }

  void step(double factor) override {
    at::NoGradGuard no_grad;
    ++steps_;
    for (Slot& slot : slots_) update(slot, factor * options_.learning_rate);
  }

  TensorMap state() const override {
    TensorMap state{{"adam.steps", at::full({1}, steps_, at::TensorOptions(at::kLong))}};
    for (const Slot& slot : slots_) {
      state["adam.mean." + slot.parameter.name] = slot.mean;
      state["adam.square." + slot.parameter.name] = slot.square;
      if (slot.master.defined()) state["adam.master." + slot.parameter.name] = slot.master;
    }
    return state;
  }

  void load_state(const TensorMap& state) override {
    at::Tensor steps = at::full({1}, 0, at::TensorOptions(at::kLong));
    load_state_tensor(state, "adam.steps", steps);
    steps_ = steps.item().toLong();
    for (Slot& slot : slots_) {
      load_state_tensor(state, "adam.mean." + slot.parameter.name, slot.mean);
      load_state_tensor(state, "adam.square." + slot.parameter.name, slot.square);
      if (slot.master.defined()) load_state_tensor(state, "adam.master." + slot.parameter.name, slot.master);
    }
  }

 private:
  struct Slot {
    NamedParameter parameter;
    at::Tensor mean;
    at::Tensor square;
    at::Tensor master;  // defined for parameters narrower than fp32
  };

  void update(Slot& slot, double learning_rate) {
    const at::Tensor& gradient = slot.parameter.value.grad();
    if (gradient.defined()) {
      const at::Tensor wide = gradient.to(at::kFloat);
      slot.mean.lerp_(wide, 1 - options_.beta1);
      slot.square.mul_(options_.beta2).addcmul_(wide, wide, 1 - options_.beta2);
    } else {
      slot.mean.mul_(options_.beta1);
      slot.square.mul_(options_.beta2);
    }
    const auto count = static_cast<double>(steps_);
    const double mean_correction = 1 - std::pow(options_.beta1, count);
    const double square_correction = std::sqrt(1 - std::pow(options_.beta2, count));
    const at::Tensor divisor = slot.square.sqrt().div_(square_correction).add_(options_.epsilon);
    at::Tensor target = slot.master.defined() ? slot.master : slot.parameter.value;
    target.addcdiv_(slot.mean, divisor, -learning_rate / mean_correction);
    if (slot.master.defined()) slot.parameter.value.copy_(slot.master);
  }

  AdamOptions options_;
  std::vector<Slot> slots_;
  std::int64_t steps_ = 0;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(const std::vector<NamedParameter>& parameters, const AdamOptions& options) {
  return std::make_unique<Adam>(parameters, options);
}

}  // namespace kc
