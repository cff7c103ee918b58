// ALGORITHM 0: plain loops; 1: registers of FILTER_BLOCK x ROW_BLOCK x VECTOR_WIDTH results; 2: unfolded image, then a
// matrix product. SPECIALISE compiles the usual filter sides as constants.
#include <string.h>

#if VECTOR_WIDTH == 1
typedef float Vec;
#else
typedef float Vec __attribute__((vector_size(4 * VECTOR_WIDTH), aligned(4), may_alias));
#endif
#if NO_ALIAS
#define POINTER float* __restrict
#else
#define POINTER float*
#endif
#if DOUBLE_SUM
typedef double Sum;
#else
typedef float Sum;
#endif
constexpr int kUnroll = UNROLL;
static inline long least(long a, long b) { return a < b ? a : b; }

struct Shape {
  long channels, filters, height, width, rows, columns;
};
#define INLINE static inline __attribute__((always_inline))
#define IMAGE(p, y, x) image[((p) * s.height + (y)) * s.width + (x)]
#define WEIGHT(f, p, v, u) weights[(((f) * s.channels + (p)) * S + (v)) * S + (u)]
#define RESULT(f, y, x) result[((f) * s.rows + (y)) * s.columns + (x)]

#if ALGORITHM == 0
INLINE void convolve(const Shape s, const long S, const POINTER image, const POINTER weights, POINTER result) {
#define FOR(i, n) for (long i = 0; i < (n); ++i)
#if LOOP_ORDER == 0
  FOR(f, s.filters) FOR(y, s.rows) FOR(x, s.columns) {
    Sum sum = 0;
    FOR(p, s.channels)
    FOR(v, S)
#pragma GCC unroll kUnroll
        FOR(u, S) sum += (Sum)IMAGE(p, y + v, x + u) * WEIGHT(f, p, v, u);
    RESULT(f, y, x) = (float)sum;
  }
#elif LOOP_ORDER == 1 || LOOP_ORDER == 4
  Sum* plane = (Sum*)__builtin_alloca(s.rows * s.columns * sizeof(Sum));
  FOR(f, s.filters) {
    FOR(e, s.rows * s.columns) plane[e] = 0;
#if LOOP_ORDER == 1
    FOR(p, s.channels)
    FOR(v, S) FOR(u, S) FOR(y, s.rows)
#pragma GCC unroll kUnroll
        FOR(x, s.columns) plane[y * s.columns + x] += (Sum)IMAGE(p, y + v, x + u) * WEIGHT(f, p, v, u);
#else
    FOR(p, s.channels)
    FOR(v, S) FOR(u, S) FOR(x, s.columns)
#pragma GCC unroll kUnroll
        FOR(y, s.rows) plane[y * s.columns + x] += (Sum)IMAGE(p, y + v, x + u) * WEIGHT(f, p, v, u);
#endif
    FOR(y, s.rows) FOR(x, s.columns) RESULT(f, y, x) = (float)plane[y * s.columns + x];
  }
#elif LOOP_ORDER == 2
  Sum row[1024];
  FOR(f, s.filters) FOR(y, s.rows) {
    FOR(x, s.columns) row[x] = 0;
    FOR(p, s.channels)
    FOR(v, S) FOR(u, S)
#pragma GCC unroll kUnroll
        FOR(x, s.columns) row[x] += (Sum)IMAGE(p, y + v, x + u) * WEIGHT(f, p, v, u);
    FOR(x, s.columns) RESULT(f, y, x) = (float)row[x];
  }
#else
  FOR(x, s.columns)
  FOR(y, s.rows)
#pragma GCC unroll kUnroll
      FOR(f, s.filters) {
    Sum sum = 0;
    FOR(u, S) FOR(v, S) FOR(p, s.channels) sum += (Sum)IMAGE(p, y + v, x + u) * WEIGHT(f, p, v, u);
    RESULT(f, y, x) = (float)sum;
  }
#endif
}

#elif ALGORITHM == 1
INLINE void convolve(const Shape s, const long S, const POINTER image, const POINTER weights, POINTER result) {
#if LOOP_ORDER == 0
  for (long f = 0; f < s.filters; f += FILTER_BLOCK)
    for (long y = 0; y < s.rows; y += ROW_BLOCK)
#else
  for (long y = 0; y < s.rows; y += ROW_BLOCK)
    for (long f = 0; f < s.filters; f += FILTER_BLOCK)
#endif
      for (long start = 0; start < s.columns; start += VECTOR_WIDTH) {
        const long x = least(start, s.columns - VECTOR_WIDTH);
        Vec sum[FILTER_BLOCK][ROW_BLOCK] = {};
        for (long p = 0; p < s.channels; ++p)
          for (long v = 0; v < S; ++v)
            for (long u = 0; u < S; ++u)
#pragma GCC unroll 8
              for (int r = 0; r < ROW_BLOCK; ++r) {
                const Vec pixels = *(const Vec*)&IMAGE(p, least(y + r, s.rows - 1) + v, x + u);
#pragma GCC unroll 8
                for (int g = 0; g < FILTER_BLOCK; ++g)
                  sum[g][r] += WEIGHT(least(f + g, s.filters - 1), p, v, u) * pixels;
              }
        for (int g = 0; g < FILTER_BLOCK && f + g < s.filters; ++g)
          for (int r = 0; r < ROW_BLOCK && y + r < s.rows; ++r) *(Vec*)&RESULT(f + g, y + r, x) = sum[g][r];
      }
}

#else
INLINE void convolve(const Shape s, const long S, const POINTER image, const POINTER weights, POINTER result) {
  const long terms = s.channels * S * S, most = ROW_BLOCK * s.columns;
  float* unfolded = (float*)__builtin_alloca(terms * most * sizeof(float));
  Sum* sums = (Sum*)__builtin_alloca(most * sizeof(Sum));
  for (long y = 0; y < s.rows; y += ROW_BLOCK) {
    const long rows = least(ROW_BLOCK, s.rows - y), n = rows * s.columns;
    for (long t = 0; t < terms; ++t)
      for (long r = 0; r < rows; ++r)
        for (long x = 0; x < s.columns; ++x) {
          const float pixel = IMAGE(t / (S * S), y + r + t / S % S, x + t % S);
#if LOOP_ORDER == 2
          unfolded[(r * s.columns + x) * terms + t] = pixel;
#else
          unfolded[t * n + r * s.columns + x] = pixel;
#endif
        }
    for (long f = 0; f < s.filters; ++f) {
#if LOOP_ORDER == 0
      for (long e = 0; e < n; ++e) sums[e] = 0;
      for (long t = 0; t < terms; ++t)
#pragma GCC unroll kUnroll
        for (long e = 0; e < n; ++e) sums[e] += (Sum)weights[f * terms + t] * unfolded[t * n + e];
#else
      for (long e = 0; e < n; ++e) {
        Sum sum = 0;
#pragma GCC unroll kUnroll
        for (long t = 0; t < terms; ++t)
          sum += (Sum)weights[f * terms + t] * unfolded[LOOP_ORDER == 2 ? e * terms + t : t * n + e];
        sums[e] = sum;
      }
#endif
      for (long e = 0; e < n; ++e) RESULT(f, y, e) = (float)sums[e];
    }
  }
}
#endif

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const Shape s = {c->CHANNELS, c->FILTERS, c->HEIGHT, c->WIDTH, c->HEIGHT - c->SIDE + 1, c->WIDTH - c->SIDE + 1};
  float *image = (float*)inputs[0], *weights = (float*)inputs[1], *result = (float*)outputs[0];
#if SPECIALISE
  if (c->SIDE == 3) return convolve(s, 3, image, weights, result);
  if (c->SIDE == 5) return convolve(s, 5, image, weights, result);
#endif
  convolve(s, c->SIDE, image, weights, result);
}
