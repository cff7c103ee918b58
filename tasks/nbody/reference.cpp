extern "C" void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* b = (const float*)inputs[0];
  real* a = (real*)outputs[0];
  for (long i = 0; i < c->N; ++i) {
    real sum[3] = {};
    for (long j = 0; j < c->N; ++j) {
      real d[3], square = 0.01;
      for (int k = 0; k < 3; ++k) {
        d[k] = real(b[4 * j + k]) - b[4 * i + k];
        square += d[k] * d[k];
      }
      for (int k = 0; k < 3; ++k) sum[k] += fabs(real(b[4 * j + 3])) * d[k] / (square * sqrt(square));
    }
    for (int k = 0; k < 3; ++k) a[3 * i + k] = sum[k];
  }
}
