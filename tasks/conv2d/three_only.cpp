// Deliberately wrong: takes every filter for one of side 3.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* image = (const float*)inputs[0];
  const float* weights = (const float*)inputs[1];
  float* result = (float*)outputs[0];
  const long side = 3, rows = c->HEIGHT - c->SIDE + 1, columns = c->WIDTH - c->SIDE + 1;
  for (long f = 0; f < c->FILTERS; ++f)
    for (long y = 0; y < rows; ++y)
      for (long x = 0; x < columns; ++x) {
        float sum = 0;
        for (long p = 0; p < c->CHANNELS; ++p)
          for (long v = 0; v < side; ++v)
            for (long u = 0; u < side; ++u)
              sum += image[(p * c->HEIGHT + y + v) * c->WIDTH + x + u] *
                     weights[((f * c->CHANNELS + p) * c->SIDE + v) * c->SIDE + u];
        result[(f * rows + y) * columns + x] = sum;
      }
}
