// ALGORITHM 0: all scores of TILE_Q queries, softmax, weighted sum; 1: running softmax over tiles of TILE_K keys; 2: as
// 0 in vectors over keys, then over features; 3: the weights computed anew for every four features.
// LAYOUT 0: keys as given; 1: keys transposed first; 2: keys and values transposed first.
// EXP 0: exp in double precision; 1: expf; 2: polynomial; 3: powf.
#include <math.h>

#if DOUBLE_SUM
typedef double Sum;
#else
typedef float Sum;
#endif
#define INLINE static inline __attribute__((always_inline))
static inline long least(long a, long b) { return a < b ? a : b; }

INLINE float power(float x) {
#if EXP == 0
  return (float)exp((double)x);
#elif EXP == 1
  return expf(x);
#elif EXP == 3
  return powf(2.71828183f, x);
#else
  x = x < -87.0f ? -87.0f : x;
  const float scaled = x * 1.44269504f, shifted = scaled + 12582912.0f, f = scaled - (shifted - 12582912.0f);
  const int exponent = (__builtin_bit_cast(int, shifted) - 0x4B400000 + 127) << 23;
  float p = f * 1.5403530e-4f + 1.3333558e-3f;
  p = p * f + 9.6181291e-3f;
  p = p * f + 5.5504109e-2f;
  p = p * f + 2.4022651e-1f;
  p = p * f + 6.9314718e-1f;
  p = p * f + 1.0f;
  return p * __builtin_bit_cast(float, exponent);
#endif
}

struct Problem {
  long queries, keys, D;
  const float *Q, *K, *V;
  float scale;
};
#if LAYOUT >= 1
#define KEY(k, d) p.K[(d) * p.keys + (k)]
#else
#define KEY(k, d) p.K[(k) * p.D + (d)]
#endif
#if LAYOUT == 2
#define VALUE(k, d) p.V[(d) * p.keys + (k)]
#else
#define VALUE(k, d) p.V[(k) * p.D + (d)]
#endif

// Scores of keys [k0, k0 + n) of one query.
INLINE void scores(const Problem& p, const float* q, long k0, long n, float* __restrict s) {
#if LAYOUT == 0
  for (long k = 0; k < n; ++k) {
    Sum sum = 0;
    for (long d = 0; d < p.D; ++d) sum += (Sum)q[d] * KEY(k0 + k, d);
    s[k] = (float)sum * p.scale;
  }
#else
  Sum sums[1024];
  for (long k = 0; k < n; ++k) sums[k] = 0;
  for (long d = 0; d < p.D; ++d)
    for (long k = 0; k < n; ++k) sums[k] += (Sum)q[d] * KEY(k0 + k, d);
  for (long k = 0; k < n; ++k) s[k] = (float)sums[k] * p.scale;
#endif
}

INLINE float largest(const float* s, long n) {
  float most = s[0];
  for (long k = 1; k < n; ++k) most = s[k] > most ? s[k] : most;
  return most;
}

// Adds the weighted values of keys [k0, k0 + n).
INLINE void weigh(const Problem& p, const float* s, long k0, long n, Sum* __restrict sums) {
#if LAYOUT == 2
  for (long d = 0; d < p.D; ++d) {
    Sum sum = 0;
    for (long k = 0; k < n; ++k) sum += (Sum)s[k] * VALUE(k0 + k, d);
    sums[d] += sum;
  }
#else
  for (long k = 0; k < n; ++k)
    for (long d = 0; d < p.D; ++d) sums[d] += (Sum)s[k] * VALUE(k0 + k, d);
#endif
}

#if ALGORITHM == 0
static void attend(const Problem& p, float* out) {
  float s[TILE_Q][1024];
  Sum total[TILE_Q], sums[256];
  for (long q0 = 0; q0 < p.queries; q0 += TILE_Q) {
    const long m = least(TILE_Q, p.queries - q0);
    for (long t = 0; t < m; ++t) scores(p, p.Q + (q0 + t) * p.D, 0, p.keys, s[t]);
    for (long t = 0; t < m; ++t) {
      const float most = largest(s[t], p.keys);
      total[t] = 0;
      for (long k = 0; k < p.keys; ++k) s[t][k] = power(s[t][k] - most);
      for (long k = 0; k < p.keys; ++k) total[t] += s[t][k];
    }
    for (long t = 0; t < m; ++t) {
      for (long d = 0; d < p.D; ++d) sums[d] = 0;
      weigh(p, s[t], 0, p.keys, sums);
      for (long d = 0; d < p.D; ++d) out[(q0 + t) * p.D + d] = (float)(sums[d] / total[t]);
    }
  }
}

#elif ALGORITHM == 1
static void attend(const Problem& p, float* out) {
  float s[TILE_K];
  Sum sums[256];
  for (long q = 0; q < p.queries; ++q) {
    float most = -1e30f;
    Sum total = 0;
    for (long d = 0; d < p.D; ++d) sums[d] = 0;
    for (long k0 = 0; k0 < p.keys; k0 += TILE_K) {
      const long n = least(TILE_K, p.keys - k0);
      scores(p, p.Q + q * p.D, k0, n, s);
      const float higher = fmaxf(most, largest(s, n)), factor = power(most - higher);
      most = higher;
      total *= factor;
      for (long d = 0; d < p.D; ++d) sums[d] *= factor;
      for (long k = 0; k < n; ++k) total += s[k] = power(s[k] - most);
      weigh(p, s, k0, n, sums);
    }
    for (long d = 0; d < p.D; ++d) out[q * p.D + d] = (float)(sums[d] / total);
  }
}

#elif ALGORITHM == 2
typedef float Vec __attribute__((vector_size(4 * VECTOR_WIDTH), aligned(4), may_alias));

static void attend(const Problem& p, float* out) {
  float s[TILE_Q][1024];
  for (long q0 = 0; q0 < p.queries; q0 += TILE_Q) {
    const float* q[TILE_Q];
    for (long t = 0; t < TILE_Q; ++t) q[t] = p.Q + least(q0 + t, p.queries - 1) * p.D;
#if LAYOUT == 0
    for (long k = 0; k < p.keys; ++k) {
      Vec sums[TILE_Q] = {};
      for (long d = 0; d < p.D; d += VECTOR_WIDTH)
#pragma GCC unroll 4
        for (long t = 0; t < TILE_Q; ++t) sums[t] += *(const Vec*)(q[t] + d) * *(const Vec*)&KEY(k, d);
      for (long t = 0; t < TILE_Q; ++t) {
        float sum = 0;
        for (long l = 0; l < VECTOR_WIDTH; ++l) sum += sums[t][l];
        s[t][k] = sum * p.scale;
      }
    }
#else
    for (long start = 0; start < p.keys; start += VECTOR_WIDTH) {
      const long k = least(start, p.keys - VECTOR_WIDTH);
      Vec sums[TILE_Q] = {};
      for (long d = 0; d < p.D; ++d)
#pragma GCC unroll 4
        for (long t = 0; t < TILE_Q; ++t) sums[t] += q[t][d] * *(const Vec*)&KEY(k, d);
      for (long t = 0; t < TILE_Q; ++t) *(Vec*)&s[t][k] = sums[t] * p.scale;
    }
#endif
    float factor[TILE_Q];
    for (long t = 0; t < TILE_Q; ++t) {
      const float most = largest(s[t], p.keys);
      float total = 0;
      for (long k = 0; k < p.keys; ++k) s[t][k] = power(s[t][k] - most);
      for (long k = 0; k < p.keys; ++k) total += s[t][k];
      factor[t] = 1 / total;
    }
    for (long d = 0; d < p.D; d += VECTOR_WIDTH) {
      Vec sums[TILE_Q] = {};
      for (long k = 0; k < p.keys; ++k)
#pragma GCC unroll 4
        for (long t = 0; t < TILE_Q; ++t) sums[t] += s[t][k] * *(const Vec*)&VALUE(k, d);
      for (long t = 0; t < TILE_Q && q0 + t < p.queries; ++t) *(Vec*)(out + (q0 + t) * p.D + d) = sums[t] * factor[t];
    }
  }
}

#else
static void attend(const Problem& p, float* out) {
  float s[1024];
  for (long q = 0; q < p.queries; ++q) {
    scores(p, p.Q + q * p.D, 0, p.keys, s);
    const float most = largest(s, p.keys);
    for (long d = 0; d < p.D; d += 4) {
      Sum sums[4] = {}, total = 0;
      for (long k = 0; k < p.keys; ++k) {
        const float weight = power(s[k] - most);
        total += weight;
        for (long l = 0; l < 4; ++l) sums[l] += (Sum)weight * VALUE(k, d + l);
      }
      for (long l = 0; l < 4; ++l) out[q * p.D + d + l] = (float)(sums[l] / total);
    }
  }
}
#endif

static const float* transposed(const float* from, float* to, long keys, long D) {
  for (long k = 0; k < keys; ++k)
    for (long d = 0; d < D; ++d) to[d * keys + k] = from[k * D + d];
  return to;
}

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  Problem p = {c->QUERIES,
               c->KEYS,
               c->D,
               (const float*)inputs[0],
               (const float*)inputs[1],
               (const float*)inputs[2],
               1 / sqrtf((float)c->D)};
  float* space = (float*)__builtin_alloca(2 * p.keys * p.D * sizeof(float));
  if (LAYOUT >= 1) p.K = transposed(p.K, space, p.keys, p.D);
  if (LAYOUT == 2) p.V = transposed(p.V, space + p.keys * p.D, p.keys, p.D);
  attend(p, (float*)outputs[0]);
}
