// ALGORITHM 0: tiles of plain loops; 1: the same through a small buffer; 2: tiles of square blocks that are transposed
// in vector registers; 3: skewed walk along diagonals of a band. LOOP_ORDER 0 reads in order, 1 writes in order.
// FLAT_INDEX finds row and column of every element in its tile by division.
#include <string.h>

constexpr int kUnroll = UNROLL;
static inline long least(long a, long b) { return a < b ? a : b; }

#if ALGORITHM == 0 || ALGORITHM == 1
static void tile(const float* __restrict in, float* __restrict out, long rows, long columns, long in_row,
                 long out_row) {
#if FLAT_INDEX
#pragma GCC unroll kUnroll
  for (long e = 0; e < rows * columns; ++e) {
#if LOOP_ORDER == 0
    const long i = e / columns, j = e % columns;
#else
    const long i = e % rows, j = e / rows;
#endif
    out[j * out_row + i] = in[i * in_row + j];
  }
#elif LOOP_ORDER == 0
  for (long i = 0; i < rows; ++i)
#pragma GCC unroll kUnroll
    for (long j = 0; j < columns; ++j) out[j * out_row + i] = in[i * in_row + j];
#else
  for (long j = 0; j < columns; ++j)
#pragma GCC unroll kUnroll
    for (long i = 0; i < rows; ++i) out[j * out_row + i] = in[i * in_row + j];
#endif
}

static void move(const float* in, float* out, long rows, long columns, long M, long N) {
#if ALGORITHM == 0
  tile(in, out, rows, columns, N, M);
#else
  float a[TILE_M * TILE_N], b[TILE_M * TILE_N];
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < columns; j += VECTOR_WIDTH)
      memcpy(a + i * TILE_N + j, in + i * N + j, least(VECTOR_WIDTH, columns - j) * sizeof(float));
  tile(a, b, TILE_M, TILE_N, TILE_N, TILE_M);
  for (long j = 0; j < columns; ++j)
    for (long i = 0; i < rows; i += VECTOR_WIDTH)
      memcpy(out + j * M + i, b + j * TILE_M + i, least(VECTOR_WIDTH, rows - i) * sizeof(float));
#endif
}

#elif ALGORITHM == 2
typedef float Vec __attribute__((vector_size(4 * VECTOR_WIDTH), aligned(4), may_alias));

static inline void block(const float* in, float* out, long M, long N) {
  Vec r[VECTOR_WIDTH], s[VECTOR_WIDTH];
  for (int i = 0; i < VECTOR_WIDTH; ++i) r[i] = *(const Vec*)(in + i * N);
#if VECTOR_WIDTH == 4
#define STEP(to, from, distance)                                                      \
  for (int i = 0; i < 2; ++i) {                                                       \
    to[2 * i] = __builtin_shufflevector(from[i], from[i + distance], 0, 4, 1, 5);     \
    to[2 * i + 1] = __builtin_shufflevector(from[i], from[i + distance], 2, 6, 3, 7); \
  }
  STEP(s, r, 2)
  STEP(r, s, 2)
#else
#define STEP(to, from, distance)                                                                      \
  for (int i = 0; i < 4; ++i) {                                                                       \
    to[2 * i] = __builtin_shufflevector(from[i], from[i + distance], 0, 8, 1, 9, 2, 10, 3, 11);       \
    to[2 * i + 1] = __builtin_shufflevector(from[i], from[i + distance], 4, 12, 5, 13, 6, 14, 7, 15); \
  }
  STEP(s, r, 4)
  STEP(r, s, 4)
  STEP(s, r, 4)
  memcpy(r, s, sizeof(r));
#endif
  for (int j = 0; j < VECTOR_WIDTH; ++j) *(Vec*)(out + j * M) = r[j];
}

static void move(const float* in, float* out, long rows, long columns, long M, long N) {
  const long whole_rows = rows / VECTOR_WIDTH * VECTOR_WIDTH, whole_columns = columns / VECTOR_WIDTH * VECTOR_WIDTH;
#if LOOP_ORDER == 0
  for (long i = 0; i < whole_rows; i += VECTOR_WIDTH)
#pragma GCC unroll kUnroll
    for (long j = 0; j < whole_columns; j += VECTOR_WIDTH)
#else
  for (long j = 0; j < whole_columns; j += VECTOR_WIDTH)
#pragma GCC unroll kUnroll
    for (long i = 0; i < whole_rows; i += VECTOR_WIDTH)
#endif
      block(in + i * N + j, out + j * M + i, M, N);
  for (long i = 0; i < rows; ++i)
    for (long j = i < whole_rows ? whole_columns : 0; j < columns; ++j) out[j * M + i] = in[i * N + j];
}

#else
static void move(const float* in, float* out, long rows, long columns, long M, long N) {
#if LOOP_ORDER == 0
  for (long d = 0; d < columns; ++d) {
    long next = d;
#pragma GCC unroll kUnroll
    for (long i = 0; i < rows; ++i) {
      const long j = FLAT_INDEX ? (d + i) % columns : next;
      out[j * M + i] = in[i * N + j];
      next = next + 1 < columns ? next + 1 : 0;
    }
  }
#else
  for (long i = 0; i < rows; ++i)
#pragma GCC unroll kUnroll
    for (long d = 0; d < columns; ++d) {
#if FLAT_INDEX
      const long j = (d + i) % columns;
#else
      const long j = columns - 1 - d;
#endif
      out[j * M + i] = in[i * N + j];
    }
#endif
}
#endif

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* in = (const float*)inputs[0];
  float* out = (float*)outputs[0];
  const long M = c->ROWS, N = c->COLUMNS;
  for (long i = 0; i < M; i += TILE_M)
    for (long j = 0; j < N; j += TILE_N)
      move(in + i * N + j, out + j * M + i, least(TILE_M, M - i), least(TILE_N, N - j), M, N);
}
