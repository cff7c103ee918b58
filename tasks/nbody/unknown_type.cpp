// Deliberately wrong: a type that is not declared.
#include <math.h>

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* b = (const float*)inputs[0];
  float* a = (float*)outputs[0];
  for (long i = 0; i < c->N; ++i) {
    Vector ax = 0, ay = 0, az = 0;
    for (long j = 0; j < c->N; ++j) {
      const float dx = b[4 * j] - b[4 * i], dy = b[4 * j + 1] - b[4 * i + 1], dz = b[4 * j + 2] - b[4 * i + 2];
      const float s = dx * dx + dy * dy + dz * dz + 0.01f;
      const float w = fabsf(b[4 * j + 3]) / (s * sqrtf(s));
      ax += w * dx;
      ay += w * dy;
      az += w * dz;
    }
    a[3 * i] = ax;
    a[3 * i + 1] = ay;
    a[3 * i + 2] = az;
  }
}
