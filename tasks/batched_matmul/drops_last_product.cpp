// Deliberately wrong: forgets the last product of the batch.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const long P = c->P;
  for (long b = 0; b < c->BATCH - 1; ++b) {
    const float* A = (const float*)inputs[0] + b * P * P;
    const float* B = (const float*)inputs[1] + b * P * P;
    float* C = (float*)outputs[0] + b * P * P;
    for (long i = 0; i < P; ++i)
      for (long j = 0; j < P; ++j) {
        float sum = 0;
        for (long k = 0; k < P; ++k) sum += A[i * P + k] * B[k * P + j];
        C[i * P + j] = sum;
      }
  }
}
