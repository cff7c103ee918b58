#pragma once
// Included by one .cpp per instruction set, which defines KC_KERNEL_SET as the name of its namespace.
#include <bit>
#include <cmath>
#include <cstring>

#include "model/cpu_kernels.h"

namespace kc::KC_KERNEL_SET {
namespace {

inline float load(float x) { return x; }
inline double load(double x) { return x; }
inline float load(Bf16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

inline void store(float& to, float x) { to = x; }
inline void store(double& to, double x) { to = x; }
inline void store(Bf16& to, float x) {  // round to nearest even; NaN stays NaN
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  to.bits = static_cast<std::uint16_t>(x == x ? rounded : 0x7FC0U);
}

inline double exponential(double x) { return std::exp(x); }
// exp(x) = 2^n exp(r), |r| <= ln(2)/2, by a Taylor polynomial whose error is below half an ulp there.
inline float exponential(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  x = x < -87.0F ? -87.0F : x;
  x = x > 88.0F ? 88.0F : x;
  const float n = (x * 1.44269504F + kRound) - kRound;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.0F / 5040.0F;
  p = p * r + 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  return p * std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
}

template <class T>
inline ComputeType<T> dot(const T* a, const T* b, std::int64_t n) {
  ComputeType<T> sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += load(a[i]) * load(b[i]);
  return sum;
}

template <class T>
void rms_norm(const T* x, const T* w, T* y, ComputeType<T>* inverse, std::int64_t rows, std::int64_t width,
              double eps) {
  using C = ComputeType<T>;
  for (std::int64_t r = 0; r < rows; ++r, x += width, y += width) {
    const C mean = dot(x, x, width) / static_cast<C>(width);
    const C scale = C{1} / std::sqrt(mean + static_cast<C>(eps));
    inverse[r] = scale;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) store(y[i], load(w[i]) * (load(x[i]) * scale));
  }
}

template <class T>
void rms_norm_backward(const T* x, const T* w, const ComputeType<T>* inverse, const T* dy, T* dx, ComputeType<T>* dw,
                       std::int64_t rows, std::int64_t width) {
  using C = ComputeType<T>;
  for (std::int64_t r = 0; r < rows; ++r, x += width, dy += width, dx += width) {
    const C scale = inverse[r];
    C along = 0;
#pragma omp simd reduction(+ : along)
    for (std::int64_t i = 0; i < width; ++i) along += load(x[i]) * load(w[i]) * load(dy[i]);
    along *= scale * scale / static_cast<C>(width);
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) {
      const C xi = load(x[i]);
      const C dyi = load(dy[i]);
      dw[i] += dyi * xi * scale;
      store(dx[i], scale * (load(w[i]) * dyi - xi * along));
    }
  }
}

// `sign` is +1 for the rotation and -1 for its inverse, which is its transpose: both scale by the table's factor.
template <class From, class To, class C>
void rotate(const From* in, To* out, const float* cos, const float* sin, C sign, std::int64_t half) {
#pragma omp simd
  for (std::int64_t i = 0; i < half; ++i) {
    const C a = load(in[i]);
    const C b = load(in[i + half]);
    const C c = static_cast<C>(cos[i]);
    const C s = sign * static_cast<C>(sin[i]);
    store(out[i], a * c - b * s);
    store(out[i + half], b * c + a * s);
  }
}

template <class From, class To, class C>
void rotate_rows(const From* in, To* out, const std::int64_t* positions, const float* cos, const float* sin, C sign,
                 std::int64_t rows, const RopeLayout& layout) {
  const std::int64_t half = layout.head_dim / 2;
  const std::int64_t rotated = layout.rotated_heads * layout.head_dim;
  for (std::int64_t r = 0; r < rows; ++r, in += layout.columns(), out += layout.columns()) {
    const std::int64_t angle = positions[r] * half;
    for (std::int64_t h = 0; h < layout.rotated_heads; ++h)
      rotate(in + h * layout.head_dim, out + h * layout.head_dim, cos + angle, sin + angle, sign, half);
    for (std::int64_t i = rotated; i < layout.columns(); ++i) store(out[i], load(in[i]));
  }
}

template <class T>
void rope(const T* in, ComputeType<T>* out, const std::int64_t* positions, const float* cos, const float* sin,
          std::int64_t rows, const RopeLayout& layout) {
  rotate_rows(in, out, positions, cos, sin, ComputeType<T>{1}, rows, layout);
}

template <class T>
void rope_backward(const ComputeType<T>* in, T* out, const std::int64_t* positions, const float* cos, const float* sin,
                   std::int64_t rows, const RopeLayout& layout) {
  rotate_rows(in, out, positions, cos, sin, ComputeType<T>{-1}, rows, layout);
}

template <class T>
void swiglu(const T* gate_up, T* activation, std::int64_t rows, const SwigluShape& shape) {
  using C = ComputeType<T>;
  const C limit = static_cast<C>(shape.limit);
  const C alpha = static_cast<C>(shape.alpha);
#pragma omp simd
  for (std::int64_t i = 0; i < rows * shape.width; ++i) {
    const C g = load(gate_up[2 * i]);
    const C u = load(gate_up[2 * i + 1]);
    const C gate = g > limit ? limit : g;
    const C up = u > limit ? limit : (u < -limit ? -limit : u);
    store(activation[i], (up + 1) * gate / (1 + exponential(-alpha * gate)));
  }
}

template <class T>
void swiglu_backward(const T* gate_up, const T* d_act, const ComputeType<T>* weight, T* d_gate_up, T* weighted,
                     ComputeType<T>* d_weight, std::int64_t rows, const SwigluShape& shape) {
  using C = ComputeType<T>;
  const C limit = static_cast<C>(shape.limit);
  const C alpha = static_cast<C>(shape.alpha);
  const std::int64_t n = shape.width;
  for (std::int64_t r = 0; r < rows; ++r, gate_up += 2 * n, d_gate_up += 2 * n, d_act += n, weighted += n) {
    const C w = weight[r];
    C sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < n; ++i) {
      const C g = load(gate_up[2 * i]);
      const C u = load(gate_up[2 * i + 1]);
      const C gate = g > limit ? limit : g;
      const C up = u > limit ? limit : (u < -limit ? -limit : u);
      const C s = 1 / (1 + exponential(-alpha * gate));
      const C glu = gate * s;
      const C act = (up + 1) * glu;
      const C d = load(d_act[i]);
      sum += d * act;
      store(weighted[i], w * act);
      store(d_gate_up[2 * i], g > limit ? C{0} : w * d * (up + 1) * (s + alpha * glu * (1 - s)));
      store(d_gate_up[2 * i + 1], u > limit || u < -limit ? C{0} : w * d * glu);
    }
    d_weight[r] = sum;
  }
}

template <class T>
void combine(const T* rows, const std::int64_t* slot, const ComputeType<T>* weight, T* out, std::int64_t tokens,
             std::int64_t k, std::int64_t width) {
  using C = ComputeType<T>;
  constexpr std::int64_t kTile = 64;
  C sum[kTile];
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t from = 0; from < width; from += kTile) {
      const std::int64_t n = width - from < kTile ? width - from : kTile;
      for (std::int64_t i = 0; i < n; ++i) sum[i] = 0;
      for (std::int64_t j = t * k; j < (t + 1) * k; ++j) {
        const T* row = rows + slot[j] * width + from;
        const C w = weight == nullptr ? C{1} : weight[j];
#pragma omp simd
        for (std::int64_t i = 0; i < n; ++i) sum[i] += w * load(row[i]);
      }
      for (std::int64_t i = 0; i < n; ++i) store(out[t * width + from + i], sum[i]);
    }
  }
}

struct Visible {
  std::int64_t from, to;  // columns of the block
};
inline Visible visible(const ScoreBlock& b, std::int64_t row) {
  const std::int64_t query = b.first_query + row;
  const std::int64_t oldest = b.window > 0 && query - b.window + 1 > 0 ? query - b.window + 1 : 0;
  return {oldest > b.first_key ? oldest - b.first_key : 0, query - b.first_key + 1};
}

template <class C>
C maximum(const C* x, std::int64_t n, C start) {
  C most = start;
#pragma omp simd reduction(max : most)
  for (std::int64_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

// out = exp(x * scale - shift); returns the sum. `out` may be `x`.
template <class C>
C exponentials(const C* x, C* out, std::int64_t n, C scale, C shift) {
  C sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) {
    const C e = exponential(x[i] * scale - shift);
    out[i] = e;
    sum += e;
  }
  return sum;
}

template <class C>
void softmax(C* scores, C* lse, C sink, const ScoreBlock& block) {
  for (std::int64_t r = 0; r < block.rows; ++r, scores += block.columns) {
    const Visible v = visible(block, r);
    const std::int64_t n = v.to - v.from;
    const C most = maximum(scores + v.from, n, sink);
    const C sum = exponentials(scores + v.from, scores + v.from, n, C{1}, most) + exponential(sink - most);
    const C scale = C{1} / sum;
    lse[r] = most + std::log(sum);
    for (std::int64_t j = 0; j < v.from; ++j) scores[j] = 0;
#pragma omp simd
    for (std::int64_t j = v.from; j < v.to; ++j) scores[j] *= scale;
    for (std::int64_t j = v.to; j < block.columns; ++j) scores[j] = 0;
  }
}

template <class C>
void softmax_backward(C* scores, C* d_probs, const C* lse, const C* delta, C scale, const ScoreBlock& block) {
  for (std::int64_t r = 0; r < block.rows; ++r, scores += block.columns, d_probs += block.columns) {
    const Visible v = visible(block, r);
    const C shift = lse[r];
    const C mean = delta[r];
    for (std::int64_t j = 0; j < v.from; ++j) scores[j] = d_probs[j] = 0;
#pragma omp simd
    for (std::int64_t j = v.from; j < v.to; ++j) {
      const C p = exponential(scores[j] - shift);
      scores[j] = p;
      d_probs[j] = p * (d_probs[j] - mean) * scale;
    }
    for (std::int64_t j = v.to; j < block.columns; ++j) scores[j] = d_probs[j] = 0;
  }
}

template <class C>
void cached_attention(const CachedAttention<C>& w, C scale) {
  const std::int64_t n = w.to - w.from;
  const C* keys = w.keys + w.from * w.stride;
  const C* values = w.values + w.from * w.stride;
  for (std::int64_t g = 0; g < w.group; ++g) {
    for (std::int64_t j = 0; j < n; ++j)
      w.scores[j] = dot(w.query + g * w.head_dim, keys + j * w.stride, w.head_dim) * scale;
    const C most = maximum(w.scores, n, w.sinks[g]);
    const C total = exponentials(w.scores, w.scores, n, C{1}, most) + exponential(w.sinks[g] - most);
    C* out = w.out + g * w.head_dim;
    for (std::int64_t i = 0; i < w.head_dim; ++i) out[i] = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const C p = w.scores[j] / total;
      const C* value = values + j * w.stride;
#pragma omp simd
      for (std::int64_t i = 0; i < w.head_dim; ++i) out[i] += p * value[i];
    }
  }
}

template <class C>
C exp_row(const C* x, C scale, C* out, std::int64_t n, C* sum) {
  const C most = maximum(x, n, x[0]) * scale;
  *sum = exponentials(x, out, n, scale, most);
  return most + std::log(*sum);
}

}  // namespace

template <class T>
CpuKernels<T> make_kernels() {
  return {rms_norm<T>, rms_norm_backward<T>, rope<T>,    rope_backward<T>,
          swiglu<T>,   swiglu_backward<T>,   combine<T>, dot<T>};
}
template <class C>
AttentionKernels<C> make_attention_kernels() {
  return {softmax<C>, softmax_backward<C>, cached_attention<C>, exp_row<C>, dot<C>};
}

template CpuKernels<float> make_kernels<float>();
template CpuKernels<double> make_kernels<double>();
template CpuKernels<Bf16> make_kernels<Bf16>();
template AttentionKernels<float> make_attention_kernels<float>();
template AttentionKernels<double> make_attention_kernels<double>();

}  // namespace kc::KC_KERNEL_SET
