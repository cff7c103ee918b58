extern "C" void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* A = (const float*)inputs[0];
  const float* B = (const float*)inputs[1];
  real* C = (real*)outputs[0];
  for (long i = 0; i < c->M; ++i) {
    for (long j = 0; j < c->N; ++j) {
      real sum = 0;
      for (long k = 0; k < c->K; ++k) sum += real(A[i * c->K + k]) * B[k * c->N + j];
      C[i * c->N + j] = sum;
    }
  }
}
