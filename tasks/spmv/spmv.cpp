// ALGORITHM 0: row by row with ACCUMULATORS partial sums; 1: the same by gathered vectors; 2: products of a BLOCK of
// entries first, then sums of rows; 3: entry by entry, each finding its row by bisection; 4: entry by entry, adding to
// y in memory; 5: VECTOR_WIDTH rows side by side. PREFETCH is the distance, in entries, of prefetched x.
#include <string.h>

#if DOUBLE_SUM
typedef double Sum;
#else
typedef float Sum;
#endif
constexpr int kUnroll = UNROLL;
static inline long least(long a, long b) { return a < b ? a : b; }

struct Matrix {
  long rows, entries;
  const int *offsets, *columns;
  const float *values, *x;
};

static inline void ahead(const Matrix& m, long k) {
#if PREFETCH > 0
  __builtin_prefetch(&m.x[m.columns[least(k + PREFETCH, m.entries - 1)]]);
#else
  (void)m;
  (void)k;
#endif
}

#if ALGORITHM == 0
static void multiply(const Matrix& m, float* y) {
  for (long r = 0; r < m.rows; ++r) {
    Sum sums[ACCUMULATORS] = {}, sum = 0;
    long k = m.offsets[r];
    const long end = m.offsets[r + 1];
#pragma GCC unroll kUnroll
    for (; k + ACCUMULATORS <= end; k += ACCUMULATORS) {
      ahead(m, k);
#pragma GCC unroll 8
      for (int a = 0; a < ACCUMULATORS; ++a) sums[a] += (Sum)m.values[k + a] * m.x[m.columns[k + a]];
    }
    for (; k < end; ++k) sum += (Sum)m.values[k] * m.x[m.columns[k]];
    for (int a = 0; a < ACCUMULATORS; ++a) sum += sums[a];
    y[r] = (float)sum;
  }
}

#elif ALGORITHM == 1
typedef float Vec __attribute__((vector_size(4 * VECTOR_WIDTH), aligned(4), may_alias));

static void multiply(const Matrix& m, float* y) {
  constexpr long step = VECTOR_WIDTH * ACCUMULATORS;
  for (long r = 0; r < m.rows; ++r) {
    Vec sums[ACCUMULATORS] = {};
    float sum = 0;
    long k = m.offsets[r];
    const long end = m.offsets[r + 1];
#pragma GCC unroll kUnroll
    for (; k + step <= end; k += step) {
      ahead(m, k);
#pragma GCC unroll 4
      for (int a = 0; a < ACCUMULATORS; ++a) {
        Vec gathered;
#pragma GCC unroll 16
        for (int l = 0; l < VECTOR_WIDTH; ++l) gathered[l] = m.x[m.columns[k + a * VECTOR_WIDTH + l]];
        sums[a] += gathered * *(const Vec*)(m.values + k + a * VECTOR_WIDTH);
      }
    }
    if (k > m.offsets[r])
      for (int a = 1; a < ACCUMULATORS; ++a) sums[0] += sums[a];
    for (int l = 0; l < VECTOR_WIDTH; ++l) sum += sums[0][l];
    for (; k < end; ++k) sum += m.values[k] * m.x[m.columns[k]];
    y[r] = sum;
  }
}

#elif ALGORITHM == 2
static void multiply(const Matrix& m, float* y) {
  Sum products[BLOCK], open = 0;
  long r = 0;
  for (long k0 = 0; k0 < m.entries; k0 += BLOCK) {
    const long n = least(BLOCK, m.entries - k0);
#pragma GCC unroll kUnroll
    for (long k = 0; k < n; ++k) products[k] = (Sum)m.values[k0 + k] * m.x[m.columns[k0 + k]];
    for (long k = 0; k < n;) {
      const long end = least(n, m.offsets[r + 1] - k0);
      Sum sums[ACCUMULATORS] = {};
      for (; k + ACCUMULATORS <= end; k += ACCUMULATORS)
#pragma GCC unroll 4
        for (int a = 0; a < ACCUMULATORS; ++a) sums[a] += products[k + a];
      for (; k < end; ++k) open += products[k];
      for (int a = 0; a < ACCUMULATORS; ++a) open += sums[a];
      if (k0 + k < m.offsets[r + 1]) break;
      y[r++] = (float)open;
      open = 0;
    }
  }
  for (; r < m.rows; ++r) {
    y[r] = (float)open;
    open = 0;
  }
}

#elif ALGORITHM == 3 || ALGORITHM == 4
static void multiply(const Matrix& m, float* y) {
  Sum* sums = (Sum*)__builtin_alloca(m.rows * sizeof(Sum));
  for (long r = 0; r < m.rows; ++r) sums[r] = 0;
#if ALGORITHM == 3
#pragma GCC unroll kUnroll
  for (long k = 0; k < m.entries; ++k) {
    long low = 0, high = m.rows;
    while (high - low > 1) {
      const long middle = (low + high) / 2;
      if (m.offsets[middle] <= k)
        low = middle;
      else
        high = middle;
    }
    ahead(m, k);
    sums[low] += (Sum)m.values[k] * m.x[m.columns[k]];
  }
#else
  long r = 0;
#pragma GCC unroll kUnroll
  for (long k = 0; k < m.entries; ++k) {
    while (m.offsets[r + 1] <= k) ++r;
    ahead(m, k);
    *(volatile Sum*)&sums[r] = sums[r] + (Sum)m.values[k] * m.x[m.columns[k]];
  }
#endif
  for (long r = 0; r < m.rows; ++r) y[r] = (float)sums[r];
}

#else
static void multiply(const Matrix& m, float* y) {
  for (long r0 = 0; r0 < m.rows; r0 += VECTOR_WIDTH) {
    Sum sums[VECTOR_WIDTH] = {};
    long start[VECTOR_WIDTH], length[VECTOR_WIDTH], most = 0;
    for (int l = 0; l < VECTOR_WIDTH; ++l) {
      const long r = least(r0 + l, m.rows - 1);
      start[l] = m.offsets[r];
      length[l] = m.offsets[r + 1] - start[l];
      most = length[l] > most ? length[l] : most;
    }
#pragma GCC unroll kUnroll
    for (long k = 0; k < most; ++k) {
      ahead(m, start[0] + k);
#pragma GCC unroll 16
      for (int l = 0; l < VECTOR_WIDTH; ++l) {
        const long at = least(start[l] + k, m.entries - 1);
        const float value = k < length[l] ? m.values[at] : 0.0f;
        sums[l] += (Sum)value * m.x[m.columns[at]];
      }
    }
    for (int l = 0; l < VECTOR_WIDTH && r0 + l < m.rows; ++l) y[r0 + l] = (float)sums[l];
  }
}
#endif

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  multiply({c->ROWS, c->NONZEROS, (const int*)inputs[0], (const int*)inputs[1], (const float*)inputs[2],
            (const float*)inputs[3]},
           (float*)outputs[0]);
}
