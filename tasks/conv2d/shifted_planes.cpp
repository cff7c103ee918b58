// Adds one shifted and scaled copy of a whole image plane for every weight, rows unbroken, and crops at the end.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* weights = (const float*)inputs[1];
  float* result = (float*)outputs[0];
  const long rows = c->HEIGHT - c->SIDE + 1, columns = c->WIDTH - c->SIDE + 1, n = (rows - 1) * c->WIDTH + columns;
  float* plane = (float*)__builtin_alloca(n * sizeof(float));
  for (long f = 0; f < c->FILTERS; ++f) {
    for (long e = 0; e < n; ++e) plane[e] = 0;
    for (long p = 0; p < c->CHANNELS; ++p)
      for (long t = 0; t < c->SIDE * c->SIDE; ++t) {
        const float weight = *weights++;
        const float* from = (const float*)inputs[0] + p * c->HEIGHT * c->WIDTH + t / c->SIDE * c->WIDTH + t % c->SIDE;
        for (long e = 0; e < n; ++e) plane[e] += weight * from[e];
      }
    for (long y = 0; y < rows; ++y)
      for (long x = 0; x < columns; ++x) *result++ = plane[y * c->WIDTH + x];
  }
}
