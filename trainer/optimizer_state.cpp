#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "base/error.h"
#include "trainer/optimizer_state_torch.h"

namespace kc {

at::Tensor zero_state(const NamedParameter& parameter) {
  return at::zeros(parameter.value.sizes(), parameter.value.options().dtype(at::kFloat).requires_grad(std::nullopt));
}

void load_state_tensor(const TensorMap& state, const std::string& name, at::Tensor& target) {
  const auto found = state.find(name);
  if (found == state.end()) {
    throw Error(ErrorKind::bad_data,
                fmt::format("the optimiser state lacks '{}': the checkpoint was made by other training options", name));
  }
  if (found->second.sizes() != target.sizes()) {
    throw Error(ErrorKind::bad_data, fmt::format("the optimiser state's '{}' has another shape than the model", name));
  }
  at::NoGradGuard no_grad;
  target.copy_(found->second);
}

}  // namespace kc
