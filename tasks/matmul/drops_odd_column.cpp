// Deliberately wrong: handles columns in pairs and forgets the last of an odd number.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* A = (const float*)inputs[0];
  const float* B = (const float*)inputs[1];
  float* C = (float*)outputs[0];
  for (long i = 0; i < c->M; ++i)
    for (long j = 0; j < c->N / 2 * 2; ++j) {
      float sum = 0;
      for (long k = 0; k < c->K; ++k) sum += A[i * c->K + k] * B[k * c->N + j];
      C[i * c->N + j] = sum;
    }
}
