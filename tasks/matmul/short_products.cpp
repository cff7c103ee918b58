// Deliberately wrong: rounds every product to a multiple of 1/1024.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* A = (const float*)inputs[0];
  const float* B = (const float*)inputs[1];
  float* C = (float*)outputs[0];
  for (long i = 0; i < c->M; ++i)
    for (long j = 0; j < c->N; ++j) {
      float sum = 0;
      for (long k = 0; k < c->K; ++k) sum += __builtin_rintf(A[i * c->K + k] * B[k * c->N + j] * 1024) / 1024;
      C[i * c->N + j] = sum;
    }
}
