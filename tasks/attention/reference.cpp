extern "C" void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* Q = (const float*)inputs[0];
  const float* K = (const float*)inputs[1];
  const float* V = (const float*)inputs[2];
  real* out = (real*)outputs[0];
  for (long q = 0; q < c->QUERIES; ++q) {
    real sum = 0;
    for (long d = 0; d < c->D; ++d) out[q * c->D + d] = 0;
    for (long k = 0; k < c->KEYS; ++k) {
      real score = 0;
      for (long d = 0; d < c->D; ++d) score += real(Q[q * c->D + d]) * K[k * c->D + d];
      const real weight = exp(score / sqrt(real(c->D)));
      sum += weight;
      for (long d = 0; d < c->D; ++d) out[q * c->D + d] += weight * V[k * c->D + d];
    }
    for (long d = 0; d < c->D; ++d) out[q * c->D + d] /= sum;
  }
}
