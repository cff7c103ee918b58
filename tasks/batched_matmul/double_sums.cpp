// Every product adds up in double precision, a row at a time.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const long P = c->P;
  double row[256];
  for (long b = 0; b < c->BATCH; ++b) {
    const float* A = (const float*)inputs[0] + b * P * P;
    const float* B = (const float*)inputs[1] + b * P * P;
    float* C = (float*)outputs[0] + b * P * P;
    for (long i = 0; i < P; ++i) {
      for (long j = 0; j < P; ++j) row[j] = 0;
      for (long k = 0; k < P; ++k)
        for (long j = 0; j < P; ++j) row[j] += (double)A[i * P + k] * B[k * P + j];
      for (long j = 0; j < P; ++j) C[i * P + j] = (float)row[j];
    }
  }
}
