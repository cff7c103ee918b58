#include <algorithm>
#include <cmath>
#include <numbers>

#include <ATen/ops/arange.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/pow.h>

#include "model/layers_torch.h"

namespace kc {
namespace {

// The dimension whose frequency turns `rotations` times within the original context.
double correction_dimension(const GptOssConfig& c, double rotations) {
  const double context = static_cast<double>(c.original_max_position_embeddings);
  return static_cast<double>(c.head_dim) * std::log(context / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(c.rope_theta));
}

std::pair<double, double> correction_range(const GptOssConfig& c) {
  double low = correction_dimension(c, c.rope_beta_fast);
  double high = correction_dimension(c, c.rope_beta_slow);
  if (c.rope_truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(c.head_dim - 1));
  return {low, high == low ? high + 0.001 : high};
}

}  // namespace

// In fp32 and in this order of operations: a double formula rounded at the end differs in the last bit of some entries.
at::Tensor rope_inverse_frequencies(const GptOssConfig& c) {
  const at::Tensor exponent = at::arange(0, c.head_dim, 2, at::kFloat).div(static_cast<double>(c.head_dim));
  const at::Tensor periods = at::pow(at::Scalar(c.rope_theta), exponent);
  at::Tensor kept = periods.reciprocal();
  if (c.rope_factor <= 1) return kept;
  const at::Tensor stretched = periods.mul(c.rope_factor).reciprocal();
  const auto [low, high] = correction_range(c);
  const at::Tensor ramp = at::arange(0, c.head_dim / 2, 1, at::kFloat).sub(low).div(high - low).clamp(0, 1);
  const at::Tensor keep = ramp.neg().add(1);
  return stretched.mul(keep.neg().add(1)).add(kept.mul(keep));
}

double rope_magnitude(const GptOssConfig& c) { return c.rope_factor <= 1 ? 1.0 : 0.1 * std::log(c.rope_factor) + 1.0; }

RopeTables rope_tables(const GptOssConfig& config, std::int64_t positions, const at::Device& device) {
  const at::Tensor angles =
      at::arange(0, positions, 1, at::kFloat).unsqueeze(1).mul(rope_inverse_frequencies(config).unsqueeze(0));
  const double m = rope_magnitude(config);
  return {angles.cos().mul(m).to(device), angles.sin().mul(m).to(device)};
}

}  // namespace kc
