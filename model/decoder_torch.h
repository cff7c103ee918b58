#pragma once
// Inference with a key-value cache: prompts at once, then one token per row and step.
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/layers_torch.h"
#include "tokenizer/tokenizer.h"

namespace kc {

// What a layer keeps of prompts. A row is a position's keys, then values, of all heads: 2 nKV D numbers.
struct CachedRows {
  at::Tensor rows;                    // [R, 2 nKV D], on the weights' device
  std::vector<std::int64_t> offsets;  // the last positions of prompt b (all of it, or the window of a sliding layer)
                                      // are rows offsets[b] to offsets[b + 1]
};

// Prompts after one pass.
struct Prefix {
  std::vector<CachedRows> cached;     // per layer
  std::vector<std::int64_t> lengths;  // of the prompts
  at::Tensor logits;                  // [B, V] fp32 (fp64 for fp64 weights), CPU: of the token after each prompt
};

class Decoder {
 public:
  // Takes a snapshot of the weights' joined parts; the rest is shared, so do not change weights while it lives.
  Decoder(const GptOssConfig& config, const GptOssWeights& weights, std::int64_t longest_position);

  Prefix read_prompts(const std::vector<std::span<const TokenId>>& prompts) const;

  // Room for `slots` sequences of `capacity` positions; a sliding layer has room for its window only.
  void reserve(std::int64_t slots, std::int64_t capacity);
  void fill(std::int64_t slot, const Prefix& prefix, std::int64_t prompt);

  struct Step {
    std::vector<std::int64_t> ids, positions, slots;  // one entry per row
  };
  // Logits [rows, V], CPU. Error{internal} for a position without room.
  at::Tensor decode(const Step& step);
  std::int64_t cached_bytes() const;  // of all reserved room
  std::int64_t vocabulary() const { return config_.vocab_size; }

 private:
  at::Tensor logits(const at::Tensor& hidden) const;
  at::Tensor attend_cached(std::int64_t layer, const at::Tensor& rotated, const at::Tensor& sinks, const Step& step);
  at::Tensor attend_plain(std::int64_t layer, const at::Tensor& rotated, const at::Tensor& sinks, const Step& step);

  GptOssConfig config_;
  ModelWeights weights_;
  RopeTables rope_;
  std::vector<at::Tensor> cache_;  // per layer [slots, rows, 2 nKV D]; position p is row p mod rows
  std::int64_t capacity_ = 0;      // positions
};

}  // namespace kc
