#pragma once
// Which tensors a model of a configuration has: names, shapes, dtypes (gpt-oss.md sections 3.1, 3.3 and 3.4).
// H hidden, I intermediate, E experts.
#include <cstdint>
#include <string>
#include <vector>

#include "weights/gpt_oss_config.h"
#include "weights/safetensors.h"

namespace kc {

Dtype weight_dtype(const GptOssConfig& config);

std::string layer_name(std::int64_t layer, const std::string& rest);  // "model.layers.N." + rest

// Hugging Face's names; no lm_head when tied. Experts expanded: mlp.experts.gate_up_proj [E, H, 2I] and down_proj
// [E, I, H] of config.dtype; as MXFP4 (config.experts_of(layer)): gate_up_proj_blocks [E, 2I, H/32, 16],
// gate_up_proj_scales [E, 2I, H/32], down_proj_blocks [E, H, I/32, 16], down_proj_scales [E, H, I/32], all U8.
// Precondition of MXFP4: H and I are multiples of 32, as of every config.json with packed experts that was read.
std::vector<TensorHeader> tensor_table(const GptOssConfig& config);

// The original layout's names; experts are MXFP4.
std::vector<TensorHeader> original_tensor_table(const GptOssConfig& config);

// Where tensor `name` of tensor_table (experts as MXFP4) stands in the original layout: all of a tensor, or, for q, k
// and v, the rows of the fused matrix from `first_row` on. The name is empty for one that has no place there.
struct OriginalPlace {
  std::string name;
  std::int64_t first_row = 0;
};
OriginalPlace original_place(const GptOssConfig& config, const std::string& name);

}  // namespace kc
