extern "C" void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* image = (const float*)inputs[0];
  const float* weights = (const float*)inputs[1];
  real* result = (real*)outputs[0];
  for (long f = 0; f < c->FILTERS; ++f) {
    for (long y = 0; y + c->SIDE <= c->HEIGHT; ++y) {
      for (long x = 0; x + c->SIDE <= c->WIDTH; ++x) {
        real sum = 0;
        for (long p = 0; p < c->CHANNELS; ++p)
          for (long v = 0; v < c->SIDE; ++v)
            for (long u = 0; u < c->SIDE; ++u)
              sum += real(image[(p * c->HEIGHT + y + v) * c->WIDTH + x + u]) *
                     weights[((f * c->CHANNELS + p) * c->SIDE + v) * c->SIDE + u];
        *result++ = sum;
      }
    }
  }
}
