#pragma once
// Inference with a key-value cache: prompts at once, then one token per row and step.
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/layers_torch.h"
#include "tokenizer/tokenizer.h"

namespace kc {

// Prompts after one pass. A cached row is a position's keys, then values, of all heads: 2 nKV D numbers.
struct Prefix {
  std::vector<at::Tensor> cached;     // per layer [N, 2 nKV D], on the weights' device
  std::vector<std::int64_t> offsets;  // prompt b is rows offsets[b] to offsets[b + 1]
  at::Tensor logits;                  // [B, V] fp32 (fp64 for fp64 weights), CPU: of the token after each prompt
};

class Decoder {
 public:
  // Takes a snapshot of the weights' joined parts; the rest is shared, so do not change weights while it lives.
  Decoder(const GptOssConfig& config, const GptOssWeights& weights, std::int64_t longest_position);

  Prefix read_prompts(const std::vector<std::span<const TokenId>>& prompts) const;

  // Room for `slots` sequences of `capacity` positions.
  void reserve(std::int64_t slots, std::int64_t capacity);
  void fill(std::int64_t slot, const Prefix& prefix, std::int64_t prompt);

  struct Step {
    std::vector<std::int64_t> ids, positions, slots;  // one entry per row
  };
  at::Tensor decode(const Step& step);  // logits [rows, V], CPU

 private:
  at::Tensor logits(const at::Tensor& hidden) const;
  at::Tensor attend_cached(std::int64_t layer, const at::Tensor& rotated, const at::Tensor& sinks, const Step& step);
  at::Tensor attend_plain(std::int64_t layer, const at::Tensor& rotated, const at::Tensor& sinks, const Step& step);

  GptOssConfig config_;
  ModelWeights weights_;
  RopeTables rope_;
  std::vector<at::Tensor> cache_;  // per layer [slots, capacity, 2 nKV D]
};

}  // namespace kc
