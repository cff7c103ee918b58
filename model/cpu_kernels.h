#pragma once
// The memory-bound inner loops of the model on a CPU: serial functions over plain rows; callers split the rows among
// threads. Compiled once per instruction set from cpu_kernels_impl.h; cpu_kernels() picks what this processor has.
// T is the type in memory (float, double, Bf16), C = ComputeType<T> that of the arithmetic.
#include <cstdint>
#include <type_traits>

namespace kc {

struct Bf16 {
  std::uint16_t bits;
};

template <class T>
using ComputeType = std::conditional_t<std::is_same_v<T, double>, double, float>;

struct RopeLayout {
  std::int64_t rotated_heads;  // query and key heads, first in a row
  std::int64_t plain_heads;    // value heads
  std::int64_t head_dim;
  std::int64_t columns() const { return (rotated_heads + plain_heads) * head_dim; }
};

// A block of attention scores: rows are queries first_query.., columns keys first_key..; a query sees keys up to
// itself and, when window > 0, only the last `window` of them.
struct ScoreBlock {
  std::int64_t rows, columns, first_query, first_key, window;
};

struct SwigluShape {
  std::int64_t width;  // I: gate and up are interleaved in rows of 2I
  double alpha, limit;
};

template <class C>
struct CachedAttention {
  const C* query;   // [group, D], rotated
  const C* keys;    // row of position p at keys + p * stride
  const C* values;  // likewise
  const C* sinks;   // [group]
  C* scores;        // scratch [to - from]
  C* out;           // [group, D]
  std::int64_t group, head_dim, stride, from, to;
};

template <class T>
struct CpuKernels {
  using C = ComputeType<T>;
  // y = x * rsqrt(mean(x^2) + eps) * w; inverse[r] keeps the rsqrt.
  void (*rms_norm)(const T* x, const T* w, T* y, C* inverse, std::int64_t rows, std::int64_t width, double eps);
  // dw is added to.
  void (*rms_norm_backward)(const T* x, const T* w, const C* inverse, const T* dy, T* dx, C* dw, std::int64_t rows,
                            std::int64_t width);
  // Half-split rotation of the first heads of each row, by the angles cos, sin [position, head_dim / 2].
  void (*rope)(const T* in, C* out, const std::int64_t* positions, const float* cos, const float* sin,
               std::int64_t rows, const RopeLayout& layout);
  void (*rope_backward)(const C* in, T* out, const std::int64_t* positions, const float* cos, const float* sin,
                        std::int64_t rows, const RopeLayout& layout);
  // a = (up + 1) gate sigmoid(alpha gate), clamped.
  void (*swiglu)(const T* gate_up, T* activation, std::int64_t rows, const SwigluShape& shape);
  // Row r: d_weight[r] = activation . d_act; gate_up's gradient for weight[r] * d_act; weighted = weight[r] *
  // activation.
  void (*swiglu_backward)(const T* gate_up, const T* d_act, const C* weight, T* d_gate_up, T* weighted, C* d_weight,
                          std::int64_t rows, const SwigluShape& shape);
  // out[t] = sum over j of weight[t k + j] * rows[slot[t k + j]]; weight may be null (all one).
  void (*combine)(const T* rows, const std::int64_t* slot, const C* weight, T* out, std::int64_t tokens, std::int64_t k,
                  std::int64_t width);
  C (*dot)(const T* a, const T* b, std::int64_t n);
};

// Arithmetic that is always done in the compute type.
template <class C>
struct AttentionKernels {
  // In place: scores to probabilities with the sink as one more logit (0 where masked); lse[r] per row.
  void (*softmax)(C* scores, C* lse, C sink, const ScoreBlock& block);
  // In place: scores to probabilities, and d_probs to d_scores = p (d_p - delta[r]) * scale.
  void (*softmax_backward)(C* scores, C* d_probs, const C* lse, const C* delta, C scale, const ScoreBlock& block);
  void (*cached)(const CachedAttention<C>& work, C scale);
  // Returns log(sum exp(x * scale)) and leaves exp(x * scale - max) in `out`, whose sum is *sum.
  C (*exp_row)(const C* x, C scale, C* out, std::int64_t n, C* sum);
  C (*dot)(const C* a, const C* b, std::int64_t n);
};

template <class T>
const CpuKernels<T>& cpu_kernels();
template <class C>
const AttentionKernels<C>& attention_kernels();

}  // namespace kc
