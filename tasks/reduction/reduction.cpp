// ALGORITHM 0: row by row with ACCUMULATORS running sums; 1: the same in vector registers; 2: halves that are added
// (pairwise) down to BLOCK values; 3: ROW_BLOCK rows side by side; 4: Kahan's compensated sum.
#if ALGORITHM == 1
typedef float Vec __attribute__((vector_size(4 * VECTOR_WIDTH), aligned(4), may_alias));
#endif

#if DOUBLE_SUM
typedef double Real;
#else
typedef float Real;
#endif

#if ALGORITHM == 0 || ALGORITHM == 2
static inline Real plain(const float* v, long n) {
  Real sums[ACCUMULATORS] = {};
  long j = 0;
  for (; j + ACCUMULATORS <= n; j += ACCUMULATORS)
#pragma GCC unroll 16
    for (int a = 0; a < ACCUMULATORS; ++a) sums[a] += v[j + a];
  Real sum = 0;
  for (; j < n; ++j) sum += v[j];
  for (int a = 0; a < ACCUMULATORS; ++a) sum += sums[a];
  return sum;
}
#endif

#if ALGORITHM == 0
static inline float row_sum(const float* v, long n) { return plain(v, n); }
#elif ALGORITHM == 1
static inline float row_sum(const float* v, long n) {
  Vec sums[ACCUMULATORS] = {};
  constexpr long kStep = VECTOR_WIDTH * ACCUMULATORS;
  long j = 0;
  for (; j + kStep <= n; j += kStep)
#pragma GCC unroll 16
    for (int a = 0; a < ACCUMULATORS; ++a) sums[a] += *(const Vec*)(v + j + a * VECTOR_WIDTH);
  for (int a = 1; a < ACCUMULATORS; ++a) sums[0] += sums[a];
  float sum = 0;
  for (; j < n; ++j) sum += v[j];
  for (int i = 0; i < VECTOR_WIDTH; ++i) sum += sums[0][i];
  return sum;
}
#elif ALGORITHM == 2
static Real halves(const float* v, long n) {
  if (n <= BLOCK) return plain(v, n);
  return halves(v, n / 2) + halves(v + n / 2, n - n / 2);
}
static inline float row_sum(const float* v, long n) { return halves(v, n); }
#elif ALGORITHM == 4
static inline float row_sum(const float* v, long n) {
  float sums[ACCUMULATORS] = {}, lost[ACCUMULATORS] = {};
  long j = 0;
  for (; j + ACCUMULATORS <= n; j += ACCUMULATORS)
#pragma GCC unroll 16
    for (int a = 0; a < ACCUMULATORS; ++a) {
      const float y = v[j + a] - lost[a], t = sums[a] + y;
      lost[a] = (t - sums[a]) - y;
      sums[a] = t;
    }
  float sum = 0;
  for (; j < n; ++j) sum += v[j];
  for (int a = 0; a < ACCUMULATORS; ++a) sum += sums[a];
  return sum;
}
#endif

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* values = (const float*)inputs[0];
  float* out = (float*)outputs[0];
  const long n = c->COLUMNS;
#if ALGORITHM == 3
  for (long r0 = 0; r0 < c->ROWS; r0 += ROW_BLOCK) {
    const long rows = c->ROWS - r0 < ROW_BLOCK ? c->ROWS - r0 : ROW_BLOCK;
    Real sums[ROW_BLOCK] = {};
    for (long j = 0; j < n; ++j)
      for (long r = 0; r < rows; ++r) sums[r] += values[(r0 + r) * n + j];
    for (long r = 0; r < rows; ++r) out[r0 + r] = sums[r];
  }
#else
  for (long r = 0; r < c->ROWS; ++r) out[r] = row_sum(values + r * n, n);
#endif
}
