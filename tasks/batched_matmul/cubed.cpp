// One loop over all terms: the matrix, row, column and term come from the running number by division.
#include <string.h>

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* A = (const float*)inputs[0];
  const float* B = (const float*)inputs[1];
  float* C = (float*)outputs[0];
  const int P = (int)c->P, area = P * P;
  memset(C, 0, c->BATCH * area * sizeof(float));
  for (int t = 0; t < c->BATCH * area * P; ++t) {
    const int e = t / P, k = t % P, b = e / area;
    C[e] += A[e / P * P + k] * B[b * area + k * P + e % P];
  }
}
