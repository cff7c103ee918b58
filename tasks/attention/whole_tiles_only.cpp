// Deliberately wrong: forgets the keys beyond the last whole sixteen.
#include <math.h>

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* Q = (const float*)inputs[0];
  const float* K = (const float*)inputs[1];
  const float* V = (const float*)inputs[2];
  float* out = (float*)outputs[0];
  const long D = c->D;
  for (long q = 0; q < c->QUERIES; ++q) {
    float total = 0;
    for (long d = 0; d < D; ++d) out[q * D + d] = 0;
    for (long k = 0; k < c->KEYS / 16 * 16; ++k) {
      float score = 0;
      for (long d = 0; d < D; ++d) score += Q[q * D + d] * K[k * D + d];
      const float weight = expf(score / sqrtf((float)D));
      total += weight;
      for (long d = 0; d < D; ++d) out[q * D + d] += weight * V[k * D + d];
    }
    for (long d = 0; d < D; ++d) out[q * D + d] /= total;
  }
}
