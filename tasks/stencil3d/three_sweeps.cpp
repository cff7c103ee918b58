// Sums pairs along x, then y, then z into four fields by distance, each in a sweep of its own.
#include <string.h>

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* in = (const float*)inputs[0];
  const float* w = (const float*)inputs[1];
  float* out = (float*)outputs[0];
  const long row = c->X, plane = c->X * c->Y, n = c->Z * plane;
  float* a = (float*)__builtin_alloca(3 * n * sizeof(float));
  float *b0 = a + n, *b1 = b0 + n;
  memcpy(out, in, n * sizeof(float));
  for (long e = 1; e < n - 1; ++e) a[e] = in[e - 1] + in[e + 1];
  // Along y: 0 of distance 0, 1 and 2 is in[e], b0 = distance 1, b1 = distance 2.
  for (long e = row + 1; e < n - row - 1; ++e) {
    b0[e] = a[e] + in[e - row] + in[e + row];
    b1[e] = a[e - row] + a[e + row];
  }
  for (long z = 1; z < c->Z - 1; ++z)
    for (long y = 1; y < c->Y - 1; ++y)
      for (long e = z * plane + y * row + 1; e < z * plane + y * row + row - 1; ++e)
        out[e] = w[0] * in[e] + w[1] * (b0[e] + in[e - plane] + in[e + plane]) +
                 w[2] * (b1[e] + b0[e - plane] + b0[e + plane]) + w[3] * (b1[e - plane] + b1[e + plane]);
}
