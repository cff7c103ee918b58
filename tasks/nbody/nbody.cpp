// A body is x, y, z and a number whose magnitude is its mass. ALGORITHM 0: TILE targets against each source; 1: vectors
// of VECTOR_WIDTH targets, TILE at a time; 2: every pair once, for both of its bodies, by blocks of TILE sources.
// LAYOUT 0: bodies as given; 1: coordinates copied apart. ROOT 0: pow; 1: double precision; 2: sqrtf and one division;
// 3: sqrtf and three divisions; 4: reciprocal root from the bit pattern and three Newton steps.
#include <math.h>

#if VECTOR_WIDTH == 1
typedef float Vec;
typedef int Int;
#else
typedef float Vec __attribute__((vector_size(4 * VECTOR_WIDTH), aligned(4), may_alias));
typedef int Int __attribute__((vector_size(4 * VECTOR_WIDTH)));
#endif
#define INLINE static inline __attribute__((always_inline))
constexpr int kUnroll = UNROLL;
constexpr long kMost = 1024;

INLINE float cubed_reciprocal(float s) {
#if ROOT == 0
  return (float)pow((double)s, -1.5);
#elif ROOT == 1
  return (float)(1 / (s * sqrt((double)s)));
#elif ROOT == 2
  return 1 / (s * sqrtf(s));
#elif ROOT == 3
  const float r = sqrtf(s);
  return 1 / r / r / r;
#else
  float y = __builtin_bit_cast(float, 0x5F375A86 - (__builtin_bit_cast(int, s) >> 1));
  for (int k = 0; k < 3; ++k) y = y * (1.5f - 0.5f * s * y * y);
  return y * y * y;
#endif
}

#if VECTOR_WIDTH > 1
INLINE Vec cubed_reciprocal(Vec s) {
#if ROOT == 4
  Vec y = (Vec)(0x5F375A86 - ((Int)s >> 1));
  for (int k = 0; k < 3; ++k) y = y * (1.5f - 0.5f * s * y * y);
  return y * y * y;
#elif ROOT == 1
  Vec y;
  for (int l = 0; l < VECTOR_WIDTH; ++l) y[l] = cubed_reciprocal(s[l]);
  return y;
#else
  Vec r;
  for (int l = 0; l < VECTOR_WIDTH; ++l) r[l] = sqrtf(s[l]);
#if ROOT == 2
  return 1 / (s * r);
#else
  return 1 / r / r / r;
#endif
#endif
}
#endif

#if LAYOUT == 0
#define X(j) b[4 * (j)]
#define Y(j) b[4 * (j) + 1]
#define Z(j) b[4 * (j) + 2]
#define MASS(j) fabsf(b[4 * (j) + 3])
#else
#define X(j) x[j]
#define Y(j) y[j]
#define Z(j) z[j]
#define MASS(j) mass[j]
#endif

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const long n = c->N;
  const float* b = (const float*)inputs[0];
  float* out = (float*)outputs[0];
#if LAYOUT == 1
  float x[kMost], y[kMost], z[kMost], mass[kMost];
  for (long j = 0; j < n; ++j) {
    x[j] = b[4 * j];
    y[j] = b[4 * j + 1];
    z[j] = b[4 * j + 2];
    mass[j] = fabsf(b[4 * j + 3]);
  }
  for (long j = n; j < n + 64; ++j) x[j] = y[j] = z[j] = mass[j] = 0;
#endif
#if ALGORITHM == 0
  for (long i = 0; i < n; i += TILE) {
    float ax[TILE] = {}, ay[TILE] = {}, az[TILE] = {};
    const long count = i + TILE <= n ? TILE : n - i;
#pragma GCC unroll kUnroll
    for (long j = 0; j < n; ++j)
#pragma GCC unroll 8
      for (long t = 0; t < TILE; ++t) {
        const long k = t < count ? i + t : i;
        const float dx = X(j) - X(k), dy = Y(j) - Y(k), dz = Z(j) - Z(k);
        const float w = MASS(j) * cubed_reciprocal(dx * dx + dy * dy + dz * dz + 0.01f);
        ax[t] += w * dx;
        ay[t] += w * dy;
        az[t] += w * dz;
      }
    for (long t = 0; t < count; ++t) {
      out[3 * (i + t)] = ax[t];
      out[3 * (i + t) + 1] = ay[t];
      out[3 * (i + t) + 2] = az[t];
    }
  }
#elif ALGORITHM == 1
  for (long i = 0; i < n; i += TILE * VECTOR_WIDTH) {
    Vec ax[TILE] = {}, ay[TILE] = {}, az[TILE] = {};
#pragma GCC unroll kUnroll
    for (long j = 0; j < n; ++j)
#pragma GCC unroll 4
      for (long t = 0; t < TILE; ++t) {
        const long k = i + t * VECTOR_WIDTH;
        const Vec dx = x[j] - *(const Vec*)(x + k), dy = y[j] - *(const Vec*)(y + k), dz = z[j] - *(const Vec*)(z + k);
        const Vec w = mass[j] * cubed_reciprocal(dx * dx + dy * dy + dz * dz + 0.01f);
        ax[t] += w * dx;
        ay[t] += w * dy;
        az[t] += w * dz;
      }
    for (long e = 0; e < TILE * VECTOR_WIDTH && i + e < n; ++e) {
      out[3 * (i + e)] = ((const float*)ax)[e];
      out[3 * (i + e) + 1] = ((const float*)ay)[e];
      out[3 * (i + e) + 2] = ((const float*)az)[e];
    }
  }
#else
  float ax[kMost] = {}, ay[kMost] = {}, az[kMost] = {};
  for (long j0 = 0; j0 < n; j0 += TILE) {
    const long end = j0 + TILE < n ? j0 + TILE : n;
    for (long i = 0; i < end; ++i)
#pragma GCC unroll kUnroll
      for (long j = i < j0 ? j0 : i + 1; j < end; ++j) {
        const float dx = X(j) - X(i), dy = Y(j) - Y(i), dz = Z(j) - Z(i);
        const float w = cubed_reciprocal(dx * dx + dy * dy + dz * dz + 0.01f);
        const float to = w * MASS(j), from = w * MASS(i);
        ax[i] += to * dx;
        ay[i] += to * dy;
        az[i] += to * dz;
        ax[j] -= from * dx;
        ay[j] -= from * dy;
        az[j] -= from * dz;
      }
  }
  for (long i = 0; i < n; ++i) {
    out[3 * i] = ax[i];
    out[3 * i + 1] = ay[i];
    out[3 * i + 2] = az[i];
  }
#endif
}
