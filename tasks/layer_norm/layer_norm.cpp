// ALGORITHM 0: mean, then variance; 1: sum and sum of squares in one pass; 2: mean and variance updated by each value.
// LOOP_ORDER 1 goes through ROW_BLOCK rows column by column. DIVIDE 0: times the reciprocal deviation; 1: divides every
// element; 2: takes the root anew for every element.
#include <math.h>

#if VECTOR_WIDTH == 1
typedef float Vec;
#else
typedef float Vec __attribute__((vector_size(4 * VECTOR_WIDTH), aligned(4), may_alias));
#endif
#if DOUBLE_SUM
typedef double Sum;
#else
typedef Vec Sum;
#endif
#define INLINE static inline __attribute__((always_inline))

constexpr float kEpsilon = 1e-5f;
constexpr long kStep = VECTOR_WIDTH * ACCUMULATORS;

#if DIVIDE == 0
#define NORMALISED(x, r) (((x) - (float)mean[r]) * factor[r])
#elif DIVIDE == 1
#define NORMALISED(x, r) (((x) - (float)mean[r]) / deviation[r])
#else
#define NORMALISED(x, r) (((x) - (float)mean[r]) / sqrtf(*(volatile float*)&variance[r] + kEpsilon))
#endif

#if LOOP_ORDER == 0
template <class F>
INLINE float total(const float* row, long n, F f) {
  Sum sums[ACCUMULATORS] = {};
  long j = 0;
  for (; j + kStep <= n; j += kStep)
#pragma GCC unroll 8
    for (int a = 0; a < ACCUMULATORS; ++a) sums[a] += f(*(const Vec*)(row + j + a * VECTOR_WIDTH));
#if DOUBLE_SUM
  double sum = 0;
  for (int a = 0; a < ACCUMULATORS; ++a) sum += sums[a];
#else
  float sum = 0;
  for (int l = 0; l < kStep; ++l) sum += ((const float*)sums)[l];
#endif
  for (; j < n; ++j) sum += f(row[j]);
  return (float)sum;
}

static void statistics(const float* row, long n, float* mean, float* variance) {
#if ALGORITHM == 0
  const float m = *mean = total(row, n, [](auto x) { return x; }) / n;
  *variance = total(row, n, [m](auto x) { return (x - m) * (x - m); }) / n;
#elif ALGORITHM == 1
  const float m = *mean = total(row, n, [](auto x) { return x; }) / n;
  *variance = total(row, n, [](auto x) { return x * x; }) / n - m * m;
#else
  Sum m[ACCUMULATORS] = {}, squares[ACCUMULATORS] = {};
  float count = 0;
  long j = 0;
  for (; j + ACCUMULATORS <= n; j += ACCUMULATORS) {
    ++count;
#pragma GCC unroll 8
    for (int a = 0; a < ACCUMULATORS; ++a) {
      const Sum difference = row[j + a] - m[a];
      m[a] += difference / count;
      squares[a] += difference * (row[j + a] - m[a]);
    }
  }
  float all = 0, middle = 0, spread = 0;
  auto merge = [&](float k, float other, float other_squares) {
    const float difference = other - middle;
    middle += difference * k / (all + k);
    spread += other_squares + difference * difference * all * k / (all + k);
    all += k;
  };
  for (int a = 0; a < ACCUMULATORS; ++a) merge(count, (float)m[a], (float)squares[a]);
  for (; j < n; ++j) merge(1, row[j], 0);
  *mean = middle;
  *variance = spread / n;
#endif
}

static void rows(const float* in, const float* gain, const float* bias, float* out, long count, long n) {
  float mean[ROW_BLOCK], variance[ROW_BLOCK], deviation[ROW_BLOCK], factor[ROW_BLOCK];
  for (long r = 0; r < count; ++r) statistics(in + r * n, n, &mean[r], &variance[r]);
  for (long r = 0; r < count; ++r) {
    deviation[r] = sqrtf(variance[r] + kEpsilon);
    factor[r] = 1 / deviation[r];
    const float* row = in + r * n;
    long j = 0;
    for (; j + VECTOR_WIDTH <= n; j += VECTOR_WIDTH)
      *(Vec*)(out + r * n + j) =
          NORMALISED(*(const Vec*)(row + j), r) * *(const Vec*)(gain + j) + *(const Vec*)(bias + j);
    for (; j < n; ++j) out[r * n + j] = NORMALISED(row[j], r) * gain[j] + bias[j];
  }
}

#else
static void rows(const float* in, const float* gain, const float* bias, float* out, long count, long n) {
  Sum mean[ROW_BLOCK] = {}, squares[ROW_BLOCK] = {};
#define EACH                   \
  for (long j = 0; j < n; ++j) \
    for (long r = 0; r < count; ++r)
#if ALGORITHM == 0
  EACH mean[r] += in[r * n + j];
  for (long r = 0; r < count; ++r) mean[r] /= n;
  EACH squares[r] += (in[r * n + j] - mean[r]) * (in[r * n + j] - mean[r]);
#elif ALGORITHM == 1
  EACH mean[r] += in[r * n + j];
  EACH squares[r] += (Sum)in[r * n + j] * in[r * n + j];
  for (long r = 0; r < count; ++r) squares[r] -= mean[r] * mean[r] / n;
  for (long r = 0; r < count; ++r) mean[r] /= n;
#else
  EACH {
    const Sum difference = in[r * n + j] - mean[r];
    mean[r] += difference / (Sum)(j + 1);
    squares[r] += difference * (in[r * n + j] - mean[r]);
  }
#endif
  float deviation[ROW_BLOCK], variance[ROW_BLOCK], factor[ROW_BLOCK];
  for (long r = 0; r < count; ++r) {
    variance[r] = (float)(squares[r] / n);
    deviation[r] = sqrtf(variance[r] + kEpsilon);
    factor[r] = 1 / deviation[r];
  }
  EACH out[r * n + j] = NORMALISED(in[r * n + j], r) * gain[j] + bias[j];
}
#endif

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const long n = c->COLUMNS;
  for (long r = 0; r < c->ROWS; r += ROW_BLOCK)
    rows((const float*)inputs[0] + r * n, (const float*)inputs[1], (const float*)inputs[2], (float*)outputs[0] + r * n,
         r + ROW_BLOCK < c->ROWS ? ROW_BLOCK : c->ROWS - r, n);
}
