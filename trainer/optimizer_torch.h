#pragma once
// Optimisers on named tensors. Their state is plain named tensors too, stored with a checkpoint.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/transformer_torch.h"

namespace kc {

struct NamedParameter {
  std::string name;
  at::Tensor value;  // a leaf; shares storage with the weights
};

using TensorMap = std::map<std::string, at::Tensor>;

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // One step on the current gradients (a missing gradient counts as zero); learning rates times `factor`.
  virtual void step(double factor) = 0;
  // Everything needed to continue exactly. load_state throws Error{bad_data} when a tensor is missing or misshapen.
  virtual TensorMap state() const = 0;
  virtual void load_state(const TensorMap& state) = 0;
};

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.95;
  double epsilon = 1e-8;
};
// Adam with bias correction and no weight decay (Kingma and Ba, 2015). Parameters of a narrower type than fp32 are
// updated through fp32 copies, or small steps would be lost.
std::unique_ptr<Optimizer> make_adam(const std::vector<NamedParameter>& parameters, const AdamOptions& options);

struct MuonOptions {
  double learning_rate = 0.02;
  double momentum = 0.95;
};
// Muon (Jordan and others, 2024): Nesterov momentum, then the update's nearest semi-orthogonal matrix. Linear weights
// are [out, in], their step is scaled by sqrt(max(1, out / in)); expert stacks [E, in, out] are one matrix per expert,
// unscaled.
std::unique_ptr<Optimizer> make_muon(const std::vector<NamedParameter>& parameters, const MuonOptions& options);

// Steps all of them; their states are joined.
std::unique_ptr<Optimizer> join_optimizers(std::vector<std::unique_ptr<Optimizer>> parts);

// U of the singular value decomposition with singular values pushed towards 1 (0.7 to 1.2): five quintic Newton-Schulz
// steps on each matrix of [B, m, n], in fp32.
at::Tensor orthogonalise(const at::Tensor& matrices_BMN);

// Block matrices but for the router: what Muon is for.
bool is_muon_parameter(const std::string& name);
bool is_router_parameter(const std::string& name);

// Trainable parameters (the adapter's where there is one) that pass `wanted`, in the weights' order. Error{internal}
// when none does.
std::vector<NamedParameter> select_parameters(const GptOssWeights& weights, bool (*wanted)(const std::string& name));

// Norm over all gradients; gradients are scaled down to `clip_norm` when it is > 0 and exceeded.
double clip_gradients(const GptOssWeights& weights, double clip_norm);
void zero_gradients(const GptOssWeights& weights);

}  // namespace kc
