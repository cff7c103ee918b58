#pragma once
// Helpers for optimiser state, shared by adam.cpp and muon.cpp.
#include <string>

#include "trainer/optimizer_torch.h"

namespace kc {

// Zeros in fp32, shaped and placed like the parameter.
at::Tensor zero_state(const NamedParameter& parameter);

// Copies state["prefix.name"] into `target`. Error{bad_data} when it is missing or has another shape.
void load_state_tensor(const TensorMap& state, const std::string& name, at::Tensor& target);

}  // namespace kc
