// Everything in double precision.
#include <math.h>

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* b = (const float*)inputs[0];
  float* a = (float*)outputs[0];
  for (long i = 0; i < c->N; ++i) {
    double ax = 0, ay = 0, az = 0;
    for (long j = 0; j < c->N; ++j) {
      const double dx = (double)b[4 * j] - b[4 * i];
      const double dy = (double)b[4 * j + 1] - b[4 * i + 1];
      const double dz = (double)b[4 * j + 2] - b[4 * i + 2];
      const double s = dx * dx + dy * dy + dz * dz + 0.01;
      const double w = fabsf(b[4 * j + 3]) / (s * sqrt(s));
      ax += w * dx;
      ay += w * dy;
      az += w * dz;
    }
    a[3 * i] = (float)ax;
    a[3 * i + 1] = (float)ay;
    a[3 * i + 2] = (float)az;
  }
}
