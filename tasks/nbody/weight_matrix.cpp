// Fills a whole matrix of pair weights first, then multiplies it with the coordinates.
#include <math.h>

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* b = (const float*)inputs[0];
  float* a = (float*)outputs[0];
  const long n = c->N;
  float* w = (float*)__builtin_alloca(n * n * sizeof(float));
  for (long i = 0; i < n; ++i)
    for (long j = 0; j < n; ++j) {
      const float dx = b[4 * j] - b[4 * i], dy = b[4 * j + 1] - b[4 * i + 1], dz = b[4 * j + 2] - b[4 * i + 2];
      const float s = dx * dx + dy * dy + dz * dz + 0.01f;
      w[i * n + j] = fabsf(b[4 * j + 3]) / (s * sqrtf(s));
    }
  for (long k = 0; k < 3; ++k)
    for (long i = 0; i < n; ++i) {
      float sum = 0;
      for (long j = 0; j < n; ++j) sum += w[i * n + j] * (b[4 * j + k] - b[4 * i + k]);
      a[3 * i + k] = sum;
    }
}
