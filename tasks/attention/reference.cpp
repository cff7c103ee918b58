#include <math.h>

extern "C" void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* Q = (const float*)inputs[0];
  const float* K = (const float*)inputs[1];
  const float* V = (const float*)inputs[2];
  double* out = (double*)outputs[0];
  for (long q = 0; q < c->QUERIES; ++q) {
    double sum = 0;
    for (long d = 0; d < c->D; ++d) out[q * c->D + d] = 0;
    for (long k = 0; k < c->KEYS; ++k) {
      double score = 0;
      for (long d = 0; d < c->D; ++d) score += (double)Q[q * c->D + d] * K[k * c->D + d];
      const double weight = exp(score / sqrt((double)c->D));
      sum += weight;
      for (long d = 0; d < c->D; ++d) out[q * c->D + d] += weight * V[k * c->D + d];
    }
    for (long d = 0; d < c->D; ++d) out[q * c->D + d] /= sum;
  }
}
