extern "C" void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  const long P = c->P;
  for (long b = 0; b < c->BATCH; ++b) {
    const float* A = (const float*)inputs[0] + b * P * P;
    const float* B = (const float*)inputs[1] + b * P * P;
    real* C = (real*)outputs[0] + b * P * P;
    for (long i = 0; i < P; ++i) {
      for (long j = 0; j < P; ++j) {
        real sum = 0;
        for (long k = 0; k < P; ++k) sum += real(A[i * P + k]) * B[k * P + j];
        C[i * P + j] = sum;
      }
    }
  }
}
