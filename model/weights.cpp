#include <cmath>
#include <cstring>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "base/error.h"
#include "model/transformer_torch.h"
#include "weights/tensor_tables.h"

namespace kc {

namespace {

bool ends_with(const std::string& text, const char* tail) {
  const std::size_t n = std::strlen(tail);
  return text.size() >= n && text.compare(text.size() - n, n, tail) == 0;
}

at::Tensor normal_tensor(const std::vector<std::int64_t>& shape, double deviation, RngStream rng) {
  at::Tensor out = at::empty(shape, at::kFloat);
  float* data = out.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < out.numel(); ++i) data[i] = static_cast<float>(rng.normal() * deviation);
  return out;
}

}  // namespace

WeightShapes weight_shapes(const GptOssConfig& config) {
  WeightShapes shapes;
  for (TensorHeader& spec : tensor_table(config)) shapes[spec.name] = std::move(spec.shape);
  return shapes;
}

GptOssWeights init_weights(const GptOssConfig& config, RngStream rng) {
  const at::ScalarType dtype = config.dtype == "bfloat16" ? at::kBFloat16 : at::kFloat;
  const double deviation = 1 / std::sqrt(static_cast<double>(config.hidden_size));
  const double output_scale = 1 / std::sqrt(2.0 * static_cast<double>(config.num_hidden_layers));
  if (config.experts == ExpertStorage::mxfp4)
    throw Error(ErrorKind::config,
                "model.experts: mxfp4 is for published weights; a fresh model's experts are trained, so they are bf16 "
                "(expanded)");
  GptOssWeights weights;
  for (const auto& [name, shape] : weight_shapes(config)) {
    at::Tensor tensor;
    if (ends_with(name, "norm.weight")) {
      tensor = at::ones(shape, at::kFloat);
    } else if (ends_with(name, "bias") || ends_with(name, "sinks")) {
      tensor = at::zeros(shape, at::kFloat);
    } else {
      const bool output = ends_with(name, "o_proj.weight") || ends_with(name, "down_proj");
      tensor = normal_tensor(shape, output ? deviation * output_scale : deviation, rng.child(name));
    }
    weights.tensors[name] = tensor.to(dtype);
  }
  return weights;
}

void GptOssWeights::require_grad(bool on) {
  for (const auto& [name, tensor] : trainable())
    if (tensor.is_floating_point()) tensor.requires_grad_(on);
}

}  // namespace kc
