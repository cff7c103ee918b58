#define ALGORITHM 0
#define LOOP_ORDER 1
#define TILE_M 8
#define TILE_N 32
#define TILE_K 32
#define NO_ALIAS 1
#define UNROLL 1
#define VECTOR_WIDTH 1
#define PACK_B 0
// ALGORITHM 0: tiled plain loops; 1: register tiles of TILE_M x TILE_N; 2: dot products with B transposed.
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
static void multiply(long M, long N, long K, const POINTER A, const POINTER B, POINTER C) {
  memset(C, 0, M * N * sizeof(float));
  for (long i0 = 0; i0 < M; i0 += TILE_M)
    for (long j0 = 0; j0 < N; j0 += TILE_N)
      for (long k0 = 0; k0 < K; k0 += TILE_K) {
        const long i1 = least(i0 + TILE_M, M), j1 = least(j0 + TILE_N, N), k1 = least(k0 + TILE_K, K);
#define FOR_I for (long i = i0; i < i1; ++i)
#define FOR_J for (long j = j0; j < j1; ++j)
#define FOR_K for (long k = k0; k < k1; ++k)
#if LOOP_ORDER == 0
        FOR_I FOR_J FOR_K
#elif LOOP_ORDER == 1
        FOR_I FOR_K FOR_J
#elif LOOP_ORDER == 2
        FOR_J FOR_I FOR_K
#elif LOOP_ORDER == 3
        FOR_J FOR_K FOR_I
#elif LOOP_ORDER == 4
        FOR_K FOR_I FOR_J
#else
        FOR_K FOR_J FOR_I
#endif
            C[i * N + j] += A[i * K + k] * B[k * N + j];
      }
}

#elif ALGORITHM == 1
constexpr int kVectors = TILE_N / VECTOR_WIDTH;
static void tile(long i, long j, long M, long N, long K, const float* A, const float* b, long stride, float* C) {
  Vec sum[TILE_M][kVectors] = {};
  const float* a[TILE_M];
  for (int r = 0; r < TILE_M; ++r) a[r] = A + least(i + r, M - 1) * K;
#pragma GCC unroll kUnroll
  for (long k = 0; k < K; ++k)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      const Vec row = *(const Vec*)(b + k * stride + v * VECTOR_WIDTH);
#pragma GCC unroll 16
      for (int r = 0; r < TILE_M; ++r) sum[r][v] += a[r][k] * row;
    }
  for (int r = 0; r < TILE_M && i + r < M; ++r)
    memcpy(C + (i + r) * N + j, sum[r], least(TILE_N, N - j) * sizeof(float));
}

static void multiply(long M, long N, long K, const float* A, const float* B, float* C) {
  float* panel = (float*)__builtin_alloca(K * TILE_N * sizeof(float));
  auto pack = [&](long j) {
    for (long k = 0; k < K; ++k)
      for (long n = 0; n < TILE_N; ++n) panel[k * TILE_N + n] = j + n < N ? B[k * N + j + n] : 0.0f;
  };
  auto one = [&](long i, long j) {
    const bool packed = PACK_B || j + TILE_N > N;
    if (packed && (LOOP_ORDER == 0 || i == 0)) pack(j);
    tile(i, j, M, N, K, A, packed ? panel : B + j, packed ? TILE_N : N, C);
  };
#if LOOP_ORDER == 0
  for (long i = 0; i < M; i += TILE_M)
    for (long j = 0; j < N; j += TILE_N) one(i, j);
#else
  for (long j = 0; j < N; j += TILE_N)
    for (long i = 0; i < M; i += TILE_M) one(i, j);
#endif
}

#else
static void tile(long i, long j, long M, long N, long K, const float* A, const float* T, float* C) {
  Vec sum[TILE_M][TILE_N] = {};
  const long whole = K / VECTOR_WIDTH * VECTOR_WIDTH;
#pragma GCC unroll kUnroll
  for (long k = 0; k < whole; k += VECTOR_WIDTH)
    for (int r = 0; r < TILE_M; ++r)
      for (int s = 0; s < TILE_N; ++s)
        sum[r][s] += *(const Vec*)(A + least(i + r, M - 1) * K + k) * *(const Vec*)(T + least(j + s, N - 1) * K + k);
  for (int r = 0; r < TILE_M && i + r < M; ++r)
    for (int s = 0; s < TILE_N && j + s < N; ++s) {
      float total = 0;
      for (int l = 0; l < VECTOR_WIDTH; ++l) total += ((const float*)&sum[r][s])[l];
      for (long k = whole; k < K; ++k) total += A[(i + r) * K + k] * T[(j + s) * K + k];
      C[(i + r) * N + j + s] = total;
    }
}

static void multiply(long M, long N, long K, const float* A, const float* B, float* C) {
  float* T = (float*)__builtin_alloca(K * N * sizeof(float));
  for (long k = 0; k < K; ++k)
    for (long j = 0; j < N; ++j) T[j * K + k] = B[k * N + j];
#if LOOP_ORDER == 0
  for (long i = 0; i < M; i += TILE_M)
    for (long j = 0; j < N; j += TILE_N) tile(i, j, M, N, K, A, T, C);
#else
  for (long j = 0; j < N; j += TILE_N)
    for (long i = 0; i < M; i += TILE_M) tile(i, j, M, N, K, A, T, C);
#endif
}
#endif

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  multiply(c->M, c->N, c->K, (float*)inputs[0], (float*)inputs[1], (float*)outputs[0]);
}
