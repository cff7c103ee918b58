// Deliberately wrong: leaves out the eight corners.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* in = (const float*)inputs[0];
  const float* w = (const float*)inputs[1];
  float* out = (float*)outputs[0];
  for (long z = 0; z < c->Z; ++z)
    for (long y = 0; y < c->Y; ++y)
      for (long x = 0; x < c->X; ++x) {
        const long e = (z * c->Y + y) * c->X + x;
        const bool boundary = z == 0 || y == 0 || x == 0 || z == c->Z - 1 || y == c->Y - 1 || x == c->X - 1;
        if (boundary) out[e] = in[e];
        float sum = in[e];
        if (!boundary) {
          sum = 0;
          for (long d = 0; d < 27; ++d) {
            const long dz = d / 9 - 1, dy = d / 3 % 3 - 1, dx = d % 3 - 1;
            if (dz * dz + dy * dy + dx * dx < 3)
              sum += w[dz * dz + dy * dy + dx * dx] * in[e + (dz * c->Y + dy) * c->X + dx];
          }
        }
        out[e] = sum;
      }
}
