// Divides the longest side until the block is small, then multiplies it with rows of B innermost.
#include <string.h>

struct Matrix {
  const float* A;
  const float* B;
  float* C;
  long N, K;
};

static void block(const Matrix& m, long i, long j, long k, long h, long w, long d) {
  if (h <= 16 && w <= 16 && d <= 16) {
    for (long r = i; r < i + h; ++r)
      for (long q = k; q < k + d; ++q)
        for (long s = j; s < j + w; ++s) m.C[r * m.N + s] += m.A[r * m.K + q] * m.B[q * m.N + s];
  } else if (h >= w && h >= d) {
    block(m, i, j, k, h / 2, w, d);
    block(m, i + h / 2, j, k, h - h / 2, w, d);
  } else if (w >= d) {
    block(m, i, j, k, h, w / 2, d);
    block(m, i, j + w / 2, k, h, w - w / 2, d);
  } else {
    block(m, i, j, k, h, w, d / 2);
    block(m, i, j, k + d / 2, h, w, d - d / 2);
  }
}

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  Matrix m = {(const float*)inputs[0], (const float*)inputs[1], (float*)outputs[0], c->N, c->K};
  memset(m.C, 0, c->M * c->N * sizeof(float));
  block(m, 0, 0, 0, c->M, c->N, c->K);
}
