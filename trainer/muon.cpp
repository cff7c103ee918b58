#include <ATen/core/grad_mode.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "trainer/optimizer_state_torch.h"
#include "trainer/optimizer_torch.h"

namespace kc {
namespace {

constexpr int kNewtonSchulzSteps = 5;
constexpr double kLinear = 3.4445, kCubic = -4.7750, kQuintic = 2.0315;
constexpr double kTinyNorm = 1e-7;

// Rows <= columns: the products of the iteration are then of the smaller side.
at::Tensor lie_wide(const at::Tensor& matrices) {
  return matrices.size(-2) > matrices.size(-1) ? matrices.transpose(-2, -1) : matrices;
}

at::Tensor orthogonalise_wide(const at::Tensor& wide_BMN) {
  at::Tensor x = wide_BMN.div(wide_BMN.norm(at::Scalar(2), {1, 2}, true).add_(kTinyNorm));
  for (int step = 0; step < kNewtonSchulzSteps; ++step) {
    const at::Tensor gram = at::bmm(x, x.transpose(1, 2));
    const at::Tensor polynomial = at::baddbmm(gram, gram, gram, kCubic, kQuintic);
    x = at::baddbmm(x, polynomial, x, kLinear, 1.0);
  }
  return x;
}

class Muon final : public Optimizer {
 public:
  Muon(const std::vector<NamedParameter>& parameters, const MuonOptions& options) : options_(options) {
    for (const NamedParameter& parameter : parameters) {
      Slot slot{parameter, zero_state(parameter), {}};
      if (parameter.value.scalar_type() != at::kFloat) slot.master = parameter.value.detach().to(at::kFloat);
      const at::Tensor wide = lie_wide(parameter.value);
      shapes_[{wide.size(-2), wide.size(-1)}].push_back(slots_.size());
      slots_.push_back(std::move(slot));
    }
  }

  void step(double factor) override {
    at::NoGradGuard no_grad;
    for (const auto& [shape, indices] : shapes_) step_shape(indices, factor * options_.learning_rate);
  }

  TensorMap state() const override {
    TensorMap state;
    for (const Slot& slot : slots_) {
      state["muon.momentum." + slot.parameter.name] = slot.momentum;
      if (slot.master.defined()) state["muon.master." + slot.parameter.name] = slot.master;
    }
    return state;
  }

  void load_state(const TensorMap& state) override {
    for (Slot& slot : slots_) {
      load_state_tensor(state, "muon.momentum." + slot.parameter.name, slot.momentum);
      if (slot.master.defined()) load_state_tensor(state, "muon.master." + slot.parameter.name, slot.master);
    }
  }

 private:
  struct Slot {
    NamedParameter parameter;
    at::Tensor momentum;
    at::Tensor master;  // defined for parameters narrower than fp32
  };

  // All matrices of one shape go through the iteration in one batched product.
  void step_shape(const std::vector<std::size_t>& indices, double learning_rate) {
    std::vector<at::Tensor> updates;
    for (const std::size_t i : indices) {
      const at::Tensor wide = lie_wide(nesterov_update(slots_[i]));
      updates.push_back(wide.dim() == 2 ? wide.unsqueeze(0) : wide);
    }
    const at::Tensor orthogonal = orthogonalise_wide(at::cat(updates));
    std::int64_t first = 0;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      const std::int64_t count = updates[k].size(0);
      apply(slots_[indices[k]], orthogonal.narrow(0, first, count), learning_rate);
      first += count;
    }
  }

  at::Tensor nesterov_update(Slot& slot) const {
    const at::Tensor& gradient = slot.parameter.value.grad();
    if (!gradient.defined()) return slot.momentum.mul_(options_.momentum).mul(options_.momentum);
    const at::Tensor wide = gradient.to(at::kFloat);
    slot.momentum.lerp_(wide, 1 - options_.momentum);
    return wide.lerp(slot.momentum, options_.momentum);
  }

  void apply(Slot& slot, const at::Tensor& orthogonal_BMN, double learning_rate) {
    const at::Tensor& value = slot.parameter.value;
    const bool stands = value.size(-2) > value.size(-1);
    const at::Tensor update = (stands ? orthogonal_BMN.transpose(1, 2) : orthogonal_BMN).reshape(value.sizes());
    double scale = 1;
    if (value.dim() == 2) {
      scale = std::sqrt(std::max(1.0, static_cast<double>(value.size(0)) / static_cast<double>(value.size(1))));
    }
    at::Tensor target = slot.master.defined() ? slot.master : value;
    target.add_(update, -learning_rate * scale);
    if (slot.master.defined()) value.copy_(slot.master);
  }

  MuonOptions options_;
  std::vector<Slot> slots_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::size_t>> shapes_;
};

}  // namespace

at::Tensor orthogonalise(const at::Tensor& matrices_BMN) {
  const bool stands = matrices_BMN.size(-2) > matrices_BMN.size(-1);
  const at::Tensor result = orthogonalise_wide(lie_wide(matrices_BMN).to(at::kFloat));
  return stands ? result.transpose(1, 2) : result;
}

std::unique_ptr<Optimizer> make_muon(const std::vector<NamedParameter>& parameters, const MuonOptions& options) {
  return std::make_unique<Muon>(parameters, options);
}

}  // namespace kc
