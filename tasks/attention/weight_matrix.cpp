// Three whole-matrix passes in double precision: scores, weights, weighted sums with keys outermost.
#include <math.h>

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* Q = (const float*)inputs[0];
  const float* K = (const float*)inputs[1];
  const float* V = (const float*)inputs[2];
  const long m = c->QUERIES, n = c->KEYS, D = c->D;
  double* w = (double*)__builtin_alloca((m * n + m * D + m) * sizeof(double));
  double *sums = w + m * n, *total = sums + m * D;
  for (long e = 0; e < m * n + m * D + m; ++e) w[e] = 0;
  for (long d = 0; d < D; ++d)
    for (long q = 0; q < m; ++q)
      for (long k = 0; k < n; ++k) w[q * n + k] += (double)Q[q * D + d] * K[k * D + d];
  for (long e = 0; e < m * n; ++e) total[e / n] += w[e] = exp(w[e] / sqrt((double)D));
  for (long k = 0; k < n; ++k)
    for (long q = 0; q < m; ++q)
      for (long d = 0; d < D; ++d) sums[q * D + d] += w[q * n + k] * V[k * D + d];
  for (long e = 0; e < m * D; ++e) ((float*)outputs[0])[e] = (float)(sums[e] / total[e / D]);
}
