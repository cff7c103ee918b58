#include "model/attention_blocks_torch.h"

#include <cmath>

#include "model/cpu_kernels.h"
#include "model/gemm.h"
#include "model/parallel.h"

namespace kc {
namespace {

constexpr std::int64_t kQueryRows = 64;

ScoreBlock score_block(std::int64_t first_query, std::int64_t length, std::int64_t window) {
  const std::int64_t last = std::min(length, first_query + kQueryRows);
  const std::int64_t oldest = window > 0 ? std::max<std::int64_t>(0, first_query - window + 1) : 0;
  return {last - first_query, last - oldest, first_query, oldest, window};
}

// Pointers into one sequence's rows for one key-value head.
template <class C>
struct HeadRows {
  HeadRows(const AttentionInput& in, std::int64_t sequence, std::int64_t kv_head)
      : shape(in.shape),
        stride(in.shape.columns()),
        start(in.offsets[static_cast<std::size_t>(sequence)]),
        length(in.offsets[static_cast<std::size_t>(sequence) + 1] - start),
        group(in.shape.heads / in.shape.kv_heads),
        first_head(kv_head * group),
        scale(C{1} / std::sqrt(static_cast<C>(in.shape.head_dim))),
        base(in.rotated.template const_data_ptr<C>() + start * stride) {}

  std::int64_t query_column(std::int64_t g) const { return (first_head + g) * shape.head_dim; }
  std::int64_t key_column() const { return (shape.heads + first_head / group) * shape.head_dim; }
  std::int64_t value_column() const { return key_column() + shape.kv_heads * shape.head_dim; }
  MatrixView<const C> rows(std::int64_t first, std::int64_t column, bool transposed = false) const {
    return {base + first * stride + column, stride, transposed};
  }
  ScoreBlock block(std::int64_t first_query) const { return score_block(first_query, length, shape.window); }
  void scores(const ScoreBlock& b, std::int64_t g, C* out) const {
    gemm({b.rows, b.columns, shape.head_dim}, scale, rows(b.first_query, query_column(g)),
         rows(b.first_key, key_column(), true), C{0}, {out, b.columns});
  }

  AttentionShape shape;
  std::int64_t stride, start, length, group, first_head;
  C scale;
  const C* base;
};

struct QueryBlock {
  std::int64_t sequence, first_query;
};

std::vector<QueryBlock> query_blocks(const std::vector<std::int64_t>& offsets) {
  std::vector<QueryBlock> blocks;
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b)
    for (std::int64_t q = 0; q < offsets[b + 1] - offsets[b]; q += kQueryRows)
      blocks.push_back({static_cast<std::int64_t>(b), q});
  return blocks;
}

template <class C>
void forward_block(const AttentionInput& in, const QueryBlock& at, std::int64_t kv_head, C* out, C* lse) {
  const HeadRows<C> h(in, at.sequence, kv_head);
  const ScoreBlock b = h.block(at.first_query);
  const std::int64_t width = h.shape.heads * h.shape.head_dim;
  const std::int64_t row = h.start + at.first_query;
  C* scores = scratch<C, 0>(b.rows * b.columns);
  C row_lse[kQueryRows];
  for (std::int64_t g = 0; g < h.group; ++g) {
    h.scores(b, g, scores);
    attention_kernels<C>().softmax(scores, row_lse, in.sinks.const_data_ptr<C>()[h.first_head + g], b);
    for (std::int64_t r = 0; r < b.rows; ++r) lse[(row + r) * h.shape.heads + h.first_head + g] = row_lse[r];
    gemm({b.rows, h.shape.head_dim, b.columns}, C{1}, MatrixView<const C>{scores, b.columns},
         h.rows(b.first_key, h.value_column()), C{0}, {out + row * width + h.query_column(g), width});
  }
  if (in.on_scores != nullptr) (*in.on_scores)(b.rows* b.columns* h.group);
}

template <class C>
struct BackwardPointers {
  const C *out, *lse, *d_out;
  C *d_rotated, *d_sinks;
};

// One query head's block: adds to the gradients of keys and values, sets that of the queries; returns the sink's.
template <class C>
C backward_block(const HeadRows<C>& h, const ScoreBlock& b, std::int64_t g, C sink, const BackwardPointers<C>& p) {
  const std::int64_t width = h.shape.heads * h.shape.head_dim;
  const std::int64_t row = h.start + b.first_query;
  C* probabilities = scratch<C, 0>(b.rows * b.columns);
  C* d_scores = scratch<C, 1>(b.rows * b.columns);
  C lse[kQueryRows];
  C delta[kQueryRows];
  C d_sink = 0;
  for (std::int64_t r = 0; r < b.rows; ++r) {
    const std::int64_t at = (row + r) * width + h.query_column(g);
    lse[r] = p.lse[(row + r) * h.shape.heads + h.first_head + g];
    delta[r] = attention_kernels<C>().dot(p.out + at, p.d_out + at, h.shape.head_dim);
    d_sink -= std::exp(sink - lse[r]) * delta[r];
  }
  const MatrixView<const C> d_out{p.d_out + row * width + h.query_column(g), width};
  h.scores(b, g, probabilities);
  gemm({b.rows, b.columns, h.shape.head_dim}, C{1}, d_out, h.rows(b.first_key, h.value_column(), true), C{0},
       {d_scores, b.columns});
  attention_kernels<C>().softmax_backward(probabilities, d_scores, lse, delta, h.scale, b);
  C* d_keys = p.d_rotated + (h.start + b.first_key) * h.stride + h.key_column();
  C* d_values = p.d_rotated + (h.start + b.first_key) * h.stride + h.value_column();
  C* d_queries = p.d_rotated + row * h.stride + h.query_column(g);
  gemm({b.rows, h.shape.head_dim, b.columns}, C{1}, MatrixView<const C>{d_scores, b.columns},
       h.rows(b.first_key, h.key_column()), C{0}, {d_queries, h.stride});
  gemm({b.columns, h.shape.head_dim, b.rows}, C{1}, MatrixView<const C>{d_scores, b.columns, true},
       h.rows(b.first_query, h.query_column(g)), C{1}, {d_keys, h.stride});
  gemm({b.columns, h.shape.head_dim, b.rows}, C{1}, MatrixView<const C>{probabilities, b.columns, true}, d_out, C{1},
       {d_values, h.stride});
  return d_sink;
}

template <class C>
void clear_columns(const HeadRows<C>& h, std::int64_t column, C* d_rotated) {
  for (std::int64_t t = 0; t < h.length; ++t)
    std::fill_n(d_rotated + (h.start + t) * h.stride + column, h.shape.head_dim, C{0});
}

}  // namespace

std::int64_t count_scores(std::int64_t length, const AttentionShape& shape) {
  std::int64_t count = 0;
  for (std::int64_t q = 0; q < length; q += kQueryRows) {
    const ScoreBlock b = score_block(q, length, shape.window);
    count += b.rows * b.columns * shape.heads;
  }
  return count;
}

template <class C>
void attend_forward(const AttentionInput& in, const at::Tensor& out, const at::Tensor& lse) {
  const std::vector<QueryBlock> blocks = query_blocks(in.offsets);
  const std::int64_t kv_heads = in.shape.kv_heads;
  C* out_data = out.mutable_data_ptr<C>();
  C* lse_data = lse.mutable_data_ptr<C>();
  parallel_tasks(static_cast<std::int64_t>(blocks.size()) * kv_heads, [&](std::int64_t i) {
    forward_block<C>(in, blocks[static_cast<std::size_t>(i / kv_heads)], i % kv_heads, out_data, lse_data);
  });
}

template <class C>
void attend_backward(const AttentionInput& in, const AttentionGradients& gradients) {
  const std::int64_t kv_heads = in.shape.kv_heads;
  const C* sinks = in.sinks.const_data_ptr<C>();
  const BackwardPointers<C> p{gradients.out.const_data_ptr<C>(), gradients.lse.const_data_ptr<C>(),
                              gradients.d_out.const_data_ptr<C>(), gradients.d_rotated.mutable_data_ptr<C>(),
                              gradients.d_sinks.mutable_data_ptr<C>()};
  const std::int64_t sequences = static_cast<std::int64_t>(in.offsets.size()) - 1;
  parallel_tasks(sequences * kv_heads, [&](std::int64_t i) {
    const HeadRows<C> h(in, i / kv_heads, i % kv_heads);
    clear_columns(h, h.key_column(), p.d_rotated);
    clear_columns(h, h.value_column(), p.d_rotated);
    for (std::int64_t g = 0; g < h.group; ++g) {
      C& d_sink = p.d_sinks[i / kv_heads * in.shape.heads + h.first_head + g];
      for (std::int64_t q = 0; q < h.length; q += kQueryRows)
        d_sink += backward_block(h, h.block(q), g, sinks[h.first_head + g], p);
    }
  });
}

template void attend_forward<float>(const AttentionInput&, const at::Tensor&, const at::Tensor&);
template void attend_forward<double>(const AttentionInput&, const at::Tensor&, const at::Tensor&);
template void attend_backward<float>(const AttentionInput&, const AttentionGradients&);
template void attend_backward<double>(const AttentionInput&, const AttentionGradients&);

}  // namespace kc
