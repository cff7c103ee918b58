// ALGORITHM 0: maximum, exponentials, scaling; 1: running maximum, then exponentials of the scaled row; 2: exponentials
// computed twice instead of stored; 3: ROW_BLOCK rows side by side, column by column.
// EXP 0: exp in double precision; 1: expf; 2: polynomial; 3: powf.
#include <math.h>

#if VECTOR_WIDTH == 1
typedef float Vec;
typedef int Int;
#else
typedef float Vec __attribute__((vector_size(4 * VECTOR_WIDTH), aligned(4), may_alias));
typedef int Int __attribute__((vector_size(4 * VECTOR_WIDTH), aligned(4), may_alias));
#endif
#if DOUBLE_SUM
typedef double Sum;
#else
typedef float Sum;
#endif
#if DIVIDE
#define SCALED(value, sum) ((value) / (sum))
#else
#define SCALED(value, sum) ((value) * (1 / (sum)))
#endif
#define INLINE static inline __attribute__((always_inline))

#if EXP == 2
template <class V, class I>
INLINE V polynomial(V x) {
  const V lowest = V{} - 87.0f;
  x = x < lowest ? lowest : x;
  const V scaled = x * 1.44269504f, shifted = scaled + 12582912.0f, f = scaled - (shifted - 12582912.0f);
  const I exponent = (__builtin_bit_cast(I, shifted) - 0x4B400000 + 127) << 23;
  V p = f * 1.5403530e-4f + 1.3333558e-3f;
  p = p * f + 9.6181291e-3f;
  p = p * f + 5.5504109e-2f;
  p = p * f + 2.4022651e-1f;
  p = p * f + 6.9314718e-1f;
  p = p * f + 1.0f;
  return p * __builtin_bit_cast(V, exponent);
}
#endif

INLINE float power(float x) {
#if EXP == 0
  return (float)exp((double)x);
#elif EXP == 1
  return expf(x);
#elif EXP == 2
  return polynomial<float, int>(x);
#else
  return powf(2.71828183f, x);
#endif
}

#if VECTOR_WIDTH > 1
INLINE Vec power(Vec x) {
#if EXP == 2
  return polynomial<Vec, Int>(x);
#else
  Vec y;
  for (int l = 0; l < VECTOR_WIDTH; ++l) y[l] = power(x[l]);
  return y;
#endif
}
#endif

constexpr long kStep = VECTOR_WIDTH * ACCUMULATORS;
#define EACH_VECTOR \
  for (long j = 0; j + kStep <= n; j += kStep) _Pragma("GCC unroll 8") for (int a = 0; a < ACCUMULATORS; ++a)
#define AT(p) (*(p + j + a * VECTOR_WIDTH))
#define VECTOR(p) (*(Vec*)(&AT(p)))
#define EACH_LEFT for (long j = n / kStep * kStep; j < n; ++j)

INLINE float largest(const float* row, long n) {
  Vec most[ACCUMULATORS];
  for (int a = 0; a < ACCUMULATORS; ++a) most[a] = Vec{} + row[0];
  EACH_VECTOR most[a] = VECTOR(row) > most[a] ? VECTOR(row) : most[a];
  float result = row[0];
  for (int l = 0; l < kStep; ++l) result = ((float*)most)[l] > result ? ((float*)most)[l] : result;
  EACH_LEFT result = row[j] > result ? row[j] : result;
  return result;
}

#if ALGORITHM <= 2
static void softmax(const float* row, float* out, long n) {
  Sum partial[ACCUMULATORS] = {};
  Vec sums[ACCUMULATORS] = {};
#if ALGORITHM == 1
  float most = row[0];
  Sum total = 0;
  for (long j0 = 0; j0 < n; j0 += 64) {
    const long m = j0 + 64 < n ? 64 : n - j0;
    const float higher = fmaxf(most, largest(row + j0, m));
    total = total * power(most - higher);
    most = higher;
    for (long j = 0; j < m; ++j) total += power(row[j0 + j] - most);
  }
#else
  const float most = largest(row, n);
#if DOUBLE_SUM || VECTOR_WIDTH == 1
  EACH_VECTOR {
    const float value = power(AT(row) - most);
    partial[a] += value;
    if (ALGORITHM == 0) AT(out) = value;
  }
#else
  EACH_VECTOR {
    const Vec value = power(VECTOR(row) - most);
    sums[a] += value;
    if (ALGORITHM == 0) VECTOR(out) = value;
  }
#endif
  Sum total = 0;
  EACH_LEFT total += power(row[j] - most);
  if (ALGORITHM == 0) EACH_LEFT out[j] = power(row[j] - most);
#endif
  for (int l = 0; l < kStep; ++l) total += ((float*)sums)[l];
  for (int a = 0; a < ACCUMULATORS; ++a) total += partial[a];
  const float sum = (float)total;
#if ALGORITHM == 0
  EACH_VECTOR VECTOR(out) = SCALED(VECTOR(out), sum);
  EACH_LEFT out[j] = SCALED(out[j], sum);
#else
  EACH_VECTOR VECTOR(out) = SCALED(power(VECTOR(row) - most), sum);
  EACH_LEFT out[j] = SCALED(power(row[j] - most), sum);
#endif
}

#else
static void columns(const float* in, float* out, long rows, long n) {
  float most[ROW_BLOCK];
  Sum sum[ROW_BLOCK] = {};
  for (long r = 0; r < rows; ++r) most[r] = in[r * n];
  for (long j = 0; j < n; ++j)
    for (long r = 0; r < rows; ++r) most[r] = in[r * n + j] > most[r] ? in[r * n + j] : most[r];
  for (long j = 0; j < n; ++j)
    for (long r = 0; r < rows; ++r) sum[r] += out[r * n + j] = power(in[r * n + j] - most[r]);
  for (long j = 0; j < n; ++j)
    for (long r = 0; r < rows; ++r) out[r * n + j] = (float)SCALED(out[r * n + j], sum[r]);
}
#endif

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const long n = c->COLUMNS;
  for (long r = 0; r < c->ROWS; r += ROW_BLOCK) {
    const float* in = (const float*)inputs[0] + r * n;
    float* out = (float*)outputs[0] + r * n;
#if ALGORITHM <= 2
    softmax(in, out, n);
#else
    columns(in, out, r + ROW_BLOCK < c->ROWS ? ROW_BLOCK : c->ROWS - r, n);
#endif
  }
}
