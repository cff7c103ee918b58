#include "model/decoder_torch.h"

#include <cmath>
#include <limits>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>

#include <fmt/format.h>

#include "base/error.h"
#include "model/cpu_kernels.h"
#include "model/parallel.h"

namespace kc {
namespace {

at::Tensor whole_numbers(const std::vector<std::int64_t>& values, const at::Device& device) {
  return at::tensor(values, at::kLong).to(device);
}

struct CacheView {
  AttentionShape shape;
  const Decoder::Step& step;
  at::Tensor rotated, sinks, cache, out;
};

template <class C>
void attend_row(const CacheView& v, std::int64_t row, std::int64_t kv_head) {
  const AttentionShape& s = v.shape;
  const std::int64_t group = s.heads / s.kv_heads;
  const std::int64_t stride = v.cache.size(2);
  const std::int64_t position = v.step.positions[static_cast<std::size_t>(row)];
  C* slot = v.cache.mutable_data_ptr<C>() + v.step.slots[static_cast<std::size_t>(row)] * v.cache.size(1) * stride;
  const C* in = v.rotated.const_data_ptr<C>() + row * s.columns();
  const std::int64_t keys = kv_head * s.head_dim;
  const std::int64_t values = (s.kv_heads + kv_head) * s.head_dim;
  const std::int64_t capacity = v.cache.size(1);
  C* current = slot + position % capacity * stride;
  std::copy_n(in + s.heads * s.head_dim + keys, s.head_dim, current + keys);
  std::copy_n(in + s.heads * s.head_dim + values, s.head_dim, current + values);
  const std::int64_t seen = std::min(position + 1, capacity);  // in a full ring, every row is within the window
  C* scores = scratch<C, 0>(seen);
  const std::int64_t head = kv_head * group;
  attention_kernels<C>().cached(
      {in + head * s.head_dim, slot + keys, slot + values, v.sinks.const_data_ptr<C>() + head, scores,
       v.out.mutable_data_ptr<C>() + (row * s.heads + head) * s.head_dim, group, s.head_dim, stride, 0, seen},
      C{1} / std::sqrt(static_cast<C>(s.head_dim)));
}

// The last `window` rows of each sequence (0: all).
CachedRows last_rows(const at::Tensor& rows, const std::vector<std::int64_t>& offsets, std::int64_t window) {
  CachedRows kept{{}, {0}};
  std::vector<at::Tensor> parts;
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const std::int64_t length = offsets[b + 1] - offsets[b];
    const std::int64_t count = window > 0 ? std::min(window, length) : length;
    parts.push_back(rows.narrow(0, offsets[b + 1] - count, count));
    kept.offsets.push_back(kept.offsets.back() + count);
  }
  kept.rows = parts.empty() ? rows.contiguous() : at::cat(parts, 0);
  return kept;
}

}  // namespace

Decoder::Decoder(const GptOssConfig& config, const GptOssWeights& weights, std::int64_t longest_position)
    : config_(config) {
  const at::NoGradGuard no_grad;
  weights_ = model_weights(config, weights);
  rope_ = rope_tables(config, longest_position, weights_.embedding.device());
}

at::Tensor Decoder::logits(const at::Tensor& hidden) const {
  return head_logits(hidden, weights_.head, weights_.head_lora).cpu();
}

Prefix Decoder::read_prompts(const std::vector<std::span<const TokenId>>& prompts) const {
  const at::NoGradGuard no_grad;
  const at::Device device = weights_.embedding.device();
  PackedTokens tokens;
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> positions;
  std::vector<std::int64_t> last;
  tokens.offsets.push_back(0);
  for (const std::span<const TokenId> prompt : prompts) {
    for (std::size_t t = 0; t < prompt.size(); ++t) positions.push_back(static_cast<std::int64_t>(t));
    ids.insert(ids.end(), prompt.begin(), prompt.end());
    tokens.longest = std::max(tokens.longest, static_cast<std::int64_t>(prompt.size()));
    tokens.offsets.push_back(static_cast<std::int64_t>(ids.size()));
    last.push_back(tokens.offsets.back() - 1);
  }
  tokens.batch = static_cast<std::int64_t>(prompts.size());
  tokens.ids_N = whole_numbers(ids, device);
  tokens.positions_N = whole_numbers(positions, device);
  std::vector<std::int64_t> padded;
  for (std::int64_t b = 0; b < tokens.batch; ++b)
    for (std::int64_t t = 0; t < tokens.length(b); ++t) padded.push_back(b * tokens.longest + t);
  tokens.padded_rows_N = whole_numbers(padded, device);
  Prefix prefix;
  for (const std::span<const TokenId> prompt : prompts)
    prefix.lengths.push_back(static_cast<std::int64_t>(prompt.size()));
  const at::Tensor hidden = run_layers(
      config_, weights_, tokens.ids_N, [&](std::int64_t layer, const at::Tensor& qkv, const at::Tensor& sinks) {
        const AttentionShape shape = attention_shape(config_, layer);
        const AttentionResult result = attention_with_cache(qkv, sinks, rope_, tokens, shape);
        const std::int64_t queries = shape.heads * shape.head_dim;
        const at::Tensor rows = result.rotated.narrow(1, queries, shape.columns() - queries);
        prefix.cached.push_back(last_rows(rows, tokens.offsets, shape.window));
        return result.out;
      });
  prefix.logits = logits(hidden.index_select(0, whole_numbers(last, device)));
  return prefix;
}

void Decoder::reserve(std::int64_t slots, std::int64_t capacity) {
  const at::Tensor& any = weights_.embedding;
  const std::int64_t width = 2 * config_.num_key_value_heads * config_.head_dim;
  const at::TensorOptions options = any.options().dtype(attention_type(any)).requires_grad(false);
  cache_.clear();
  capacity_ = capacity;
  for (std::int64_t i = 0; i < config_.num_hidden_layers; ++i) {
    const std::int64_t rows = config_.slides(i) ? std::min(capacity, config_.sliding_window) : capacity;
    cache_.push_back(at::empty({slots, rows, width}, options));
  }
}

std::int64_t Decoder::cached_bytes() const {
  std::int64_t bytes = 0;
  for (const at::Tensor& layer : cache_) bytes += static_cast<std::int64_t>(layer.nbytes());
  return bytes;
}

void Decoder::fill(std::int64_t slot, const Prefix& prefix, std::int64_t prompt) {
  const at::NoGradGuard no_grad;
  const auto b = static_cast<std::size_t>(prompt);
  for (std::size_t i = 0; i < cache_.size(); ++i) {
    const CachedRows& cached = prefix.cached[i];
    const at::Tensor room = cache_[i].select(0, slot);
    const std::int64_t from = cached.offsets[b];
    const std::int64_t count = cached.offsets[b + 1] - from;
    const std::int64_t start = (prefix.lengths[b] - count) % room.size(0);  // the row of the first of them
    const std::int64_t before_end = std::min(count, room.size(0) - start);
    room.narrow(0, start, before_end).copy_(cached.rows.narrow(0, from, before_end));
    room.narrow(0, 0, count - before_end).copy_(cached.rows.narrow(0, from + before_end, count - before_end));
  }
}

at::Tensor Decoder::attend_cached(std::int64_t layer, const at::Tensor& rotated, const at::Tensor& sinks,
                                  const Step& step) {
  const AttentionShape s = attention_shape(config_, layer);
  const CacheView view{s,
                       step,
                       rotated,
                       sinks.to(rotated.scalar_type()),
                       cache_[static_cast<std::size_t>(layer)],
                       at::empty({rotated.size(0), s.heads * s.head_dim}, rotated.options())};
  parallel_rows(rotated.size(0) * s.kv_heads, 8, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      if (rotated.scalar_type() == at::kDouble)
        attend_row<double>(view, i / s.kv_heads, i % s.kv_heads);
      else
        attend_row<float>(view, i / s.kv_heads, i % s.kv_heads);
    }
  });
  return view.out;
}

at::Tensor Decoder::attend_plain(std::int64_t layer, const at::Tensor& rotated, const at::Tensor& sinks,
                                 const Step& step) {
  const AttentionShape s = attention_shape(config_, layer);
  at::Tensor& cache = cache_[static_cast<std::size_t>(layer)];
  const at::Device device = rotated.device();
  const at::Tensor slots = whole_numbers(step.slots, device);
  const at::Tensor positions = whole_numbers(step.positions, device);
  const std::int64_t queries = s.heads * s.head_dim;
  const std::int64_t capacity = cache.size(1);
  cache.index_put_({slots, positions.remainder(capacity)}, rotated.narrow(1, queries, s.columns() - queries));
  const std::int64_t rows = rotated.size(0);
  const std::int64_t length = std::min(capacity, 1 + *std::max_element(step.positions.begin(), step.positions.end()));
  const at::Tensor seen = cache.narrow(1, 0, length)
                              .index_select(0, slots)
                              .view({rows, length, 2 * s.kv_heads, s.head_dim})
                              .transpose(1, 2);
  const at::Tensor q = rotated.narrow(1, 0, queries).reshape({rows, s.kv_heads, s.heads / s.kv_heads, s.head_dim});
  // Rows past a sequence's position hold nothing yet; in a full ring, every row is within the window.
  const at::Tensor row = at::arange(length, at::TensorOptions().dtype(at::kLong).device(device));
  const at::Tensor hidden = row.unsqueeze(0).gt(positions.unsqueeze(1));
  const at::Tensor scores =
      at::matmul(q, seen.narrow(1, 0, s.kv_heads).transpose(2, 3))
          .mul(1 / std::sqrt(static_cast<double>(s.head_dim)))
          .masked_fill(hidden.view({rows, 1, 1, length}), -std::numeric_limits<double>::infinity());
  const at::Tensor sink = sinks.to(scores.scalar_type())
                              .view({1, s.kv_heads, s.heads / s.kv_heads, 1})
                              .expand({rows, s.kv_heads, s.heads / s.kv_heads, 1});
  const at::Tensor p = at::softmax(at::cat({scores, sink}, 3), 3).narrow(3, 0, length);
  const at::Tensor values = seen.narrow(1, s.kv_heads, s.kv_heads);
  return at::matmul(p, values.masked_fill(hidden.view({rows, 1, length, 1}), 0)).reshape({rows, queries});
}

at::Tensor Decoder::decode(const Step& step) {
  const at::NoGradGuard no_grad;
  for (const std::int64_t position : step.positions)
    if (position < 0 || position >= std::min(capacity_, rope_.cos.size(0)))
      throw Error(ErrorKind::internal, fmt::format("Decoder: no room for position {}", position));
  const at::Device device = weights_.embedding.device();
  const at::Tensor positions = whole_numbers(step.positions, device);
  const at::Tensor hidden = run_layers(config_, weights_, whole_numbers(step.ids, device),
                                       [&](std::int64_t layer, const at::Tensor& qkv, const at::Tensor& sinks) {
                                         const at::Tensor rotated =
                                             rotate_rows(qkv, rope_, positions, attention_shape(config_, layer));
                                         const at::Tensor out = fused(qkv) ? attend_cached(layer, rotated, sinks, step)
                                                                           : attend_plain(layer, rotated, sinks, step);
                                         return out.to(qkv.scalar_type());
                                       });
  return logits(hidden);
}

}  // namespace kc
