// Sums K outer products in double precision, then rounds.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* A = (const float*)inputs[0];
  const float* B = (const float*)inputs[1];
  float* C = (float*)outputs[0];
  const long M = c->M, N = c->N, K = c->K;
  double* sum = (double*)__builtin_alloca(M * N * sizeof(double));
  for (long e = 0; e < M * N; ++e) sum[e] = 0;
  for (long k = 0; k < K; ++k)
    for (long i = 0; i < M; ++i)
      for (long j = 0; j < N; ++j) sum[i * N + j] += (double)A[i * K + k] * B[k * N + j];
  for (long e = 0; e < M * N; ++e) C[e] = (float)sum[e];
}
