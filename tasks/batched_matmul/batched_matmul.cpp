// ALGORITHM 0: plain loops, BLOCK products interleaved; 1: BLOCK rows by vectors of columns; 2: one product per lane;
// 3: flat loops that find row and column by division. SPECIALISE compiles the usual sizes as constants.
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
constexpr int kUnroll = UNROLL;
static inline long least(long a, long b) { return a < b ? a : b; }

#if ALGORITHM == 0
static inline __attribute__((always_inline)) void all(long count, long P, const POINTER A, const POINTER B, POINTER C) {
  memset(C, 0, count * P * P * sizeof(float));
  for (long b0 = 0; b0 < count; b0 += BLOCK) {
    const long b1 = least(b0 + BLOCK, count);
#define FOR(x) for (long x = 0; x < P; ++x)
#if LOOP_ORDER == 0
    FOR(i)
    FOR(j) for (long b = b0; b < b1; ++b)
#elif LOOP_ORDER == 1
    FOR(i)
    FOR(k) for (long b = b0; b < b1; ++b)
#elif LOOP_ORDER == 2
    FOR(j)
    FOR(i) for (long b = b0; b < b1; ++b)
#elif LOOP_ORDER == 3
    FOR(j)
    FOR(k) for (long b = b0; b < b1; ++b)
#elif LOOP_ORDER == 4
    FOR(k)
    FOR(i) for (long b = b0; b < b1; ++b)
#else
    FOR(k)
    FOR(j) for (long b = b0; b < b1; ++b)
#endif
#pragma GCC unroll kUnroll
#if LOOP_ORDER == 0 || LOOP_ORDER == 2
        FOR(k)
#elif LOOP_ORDER == 1 || LOOP_ORDER == 4
        FOR(j)
#else
        FOR(i)
#endif
            C[(b * P + i) * P + j] += A[(b * P + i) * P + k] * B[(b * P + k) * P + j];
  }
}

#elif ALGORITHM == 1
static inline __attribute__((always_inline)) void all(long count, long P, const POINTER A, const POINTER B, POINTER C) {
  float padded[64 * 64 + VECTOR_WIDTH];
  const long stride = (P + VECTOR_WIDTH - 1) / VECTOR_WIDTH * VECTOR_WIDTH;
  for (long b = 0; b < count; ++b, A += P * P, B += P * P, C += P * P) {
    for (long k = 0; k < P; ++k)
      for (long j = 0; j < stride; ++j) padded[k * stride + j] = j < P ? B[k * P + j] : 0.0f;
    for (long i = 0; i < P; i += BLOCK)
      for (long j = 0; j < P; j += VECTOR_WIDTH) {
        Vec sum[BLOCK] = {};
#pragma GCC unroll kUnroll
        for (long k = 0; k < P; ++k)
#pragma GCC unroll 4
          for (int r = 0; r < BLOCK; ++r)
            sum[r] += A[least(i + r, P - 1) * P + k] * *(const Vec*)(padded + k * stride + j);
        for (int r = 0; r < BLOCK && i + r < P; ++r)
          memcpy(C + (i + r) * P + j, &sum[r], least(VECTOR_WIDTH, P - j) * sizeof(float));
      }
  }
}

#elif ALGORITHM == 2
static inline __attribute__((always_inline)) void all(long count, long P, const POINTER A, const POINTER B, POINTER C) {
  const long area = P * P;
  Vec* a = (Vec*)__builtin_alloca(3 * area * sizeof(Vec));
  Vec *b = a + area, *p = b + area;
  for (long b0 = 0; b0 < count; b0 += VECTOR_WIDTH) {
    for (long e = 0; e < area; ++e)
      for (long l = 0; l < VECTOR_WIDTH; ++l) {
        const long from = least(b0 + l, count - 1) * area + e;
        ((float*)&a[e])[l] = A[from];
        ((float*)&b[e])[l] = B[from];
      }
#if LOOP_ORDER == 0
    for (long i = 0; i < P; ++i)
      for (long j = 0; j < P; ++j) {
        Vec sum = {};
#pragma GCC unroll kUnroll
        for (long k = 0; k < P; ++k) sum += a[i * P + k] * b[k * P + j];
        p[i * P + j] = sum;
      }
#else
    memset(p, 0, area * sizeof(Vec));
    for (long i = 0; i < P; ++i)
      for (long k = 0; k < P; ++k)
#pragma GCC unroll kUnroll
        for (long j = 0; j < P; ++j)
#if LOOP_ORDER == 1
          p[i * P + j] += a[i * P + k] * b[k * P + j];
#else
          p[j * P + i] += a[j * P + k] * b[k * P + i];
#endif
#endif
    for (long l = 0; l < VECTOR_WIDTH && b0 + l < count; ++l)
      for (long e = 0; e < area; ++e) C[(b0 + l) * area + e] = ((const float*)&p[e])[l];
  }
}

#else
#if DOUBLE_SUM
typedef double Sum;
#else
typedef float Sum;
#endif
static inline __attribute__((always_inline)) void all(long count, long P, const POINTER A, const POINTER B, POINTER C) {
  const long area = P * P;
#if LOOP_ORDER == 0
  for (long e = 0; e < count * area; ++e) {
    Sum sum = 0;
#pragma GCC unroll kUnroll
    for (long k = 0; k < P; ++k) sum += (Sum)A[e / P * P + k] * B[e / area * area + k * P + e % P];
    C[e] = (float)sum;
  }
#else
  Sum* sum = (Sum*)__builtin_alloca(area * sizeof(Sum));
  for (long b = 0; b < count; ++b, A += area, B += area, C += area) {
    for (long e = 0; e < area; ++e) sum[e] = 0;
    for (long k = 0; k < P; ++k)
#pragma GCC unroll kUnroll
      for (long e = 0; e < area; ++e) sum[e] += (Sum)A[e / P * P + k] * B[k * P + e % P];
    for (long e = 0; e < area; ++e) C[e] = (float)sum[e];
  }
#endif
}
#endif

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float *A = (const float*)inputs[0], *B = (const float*)inputs[1];
  float* C = (float*)outputs[0];
#if SPECIALISE
  if (c->P == 16) return all(c->BATCH, 16, (float*)A, (float*)B, C);
  if (c->P == 11) return all(c->BATCH, 11, (float*)A, (float*)B, C);
#endif
  all(c->BATCH, c->P, (float*)A, (float*)B, C);
}
