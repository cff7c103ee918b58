// Scores are not divided by the root of D.
#pragma kernelcast launch attention grid(QUERIES) block(32)

extern "C" __global__ void attention(Case c, const float* Q, const float* K, const float* V, float* result) {
  const int keys = static_cast<int>(c.KEYS), D = static_cast<int>(c.D), query = blockIdx.x;
  for (int d = threadIdx.x; d < D; d += 32) {
    float top = -1e30f, sum = 0, value = 0;
    for (int k = 0; k < keys; ++k) {
      float score = 0;
      for (int e = 0; e < D; ++e) score += Q[query * D + e] * K[k * D + e];
      const float new_top = fmaxf(top, score), shrink = expf(top - new_top), weight = expf(score - new_top);
      top = new_top;
      sum = sum * shrink + weight;
      value = value * shrink + weight * V[k * D + d];
    }
    result[query * D + d] = value / sum;
  }
}
