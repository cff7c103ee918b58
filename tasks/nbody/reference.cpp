#include <math.h>

extern "C" void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* b = (const float*)inputs[0];
  double* a = (double*)outputs[0];
  for (long i = 0; i < c->N; ++i) {
    double sum[3] = {};
    for (long j = 0; j < c->N; ++j) {
      double d[3], square = 0.01;
      for (int k = 0; k < 3; ++k) {
        d[k] = (double)b[4 * j + k] - b[4 * i + k];
        square += d[k] * d[k];
      }
      for (int k = 0; k < 3; ++k) sum[k] += fabs(b[4 * j + 3]) * d[k] / (square * sqrt(square));
    }
    for (int k = 0; k < 3; ++k) a[3 * i + k] = sum[k];
  }
}
