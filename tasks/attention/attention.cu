// ALGORITHM 0: one query a block; all its scores in shared memory, then softmax, then the weighted sum.
// ALGORITHM 1: QUERIES_PER_BLOCK queries a block, one warp each, softmax on the way (rescaled when the maximum grows);
// TILE_K keys at a time are brought to shared memory. EXP 0: expf, 1: __expf, 2: exp2f with the factor in the scale.
#pragma kernelcast launch attention grid(QUERIES) block(THREADS) shared(4 * KEYS) when(ALGORITHM == 0)
#pragma kernelcast launch attention grid(ceil_div(QUERIES, QUERIES_PER_BLOCK)) block(32 * QUERIES_PER_BLOCK) shared(4 * (TILE_K * (2 * D + 1) + QUERIES_PER_BLOCK * D)) when(ALGORITHM == 1)

__device__ __forceinline__ float exponential(float x) {
#if EXP == 0
  return expf(x);
#elif EXP == 1
  return __expf(x);
#else
  return exp2f(x);
#endif
}
__device__ __forceinline__ float score_scale(int D) {
  const float scale = 1.0f / sqrtf(static_cast<float>(D));
  return EXP == 2 ? scale * 1.44269504f : scale;
}
#define kLowest __uint_as_float(0xFF800000u)  // minus infinity
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int bits = 16; bits > 0; bits /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, bits);
  return value;
}
__device__ __forceinline__ float warp_largest(float value) {
#pragma unroll
  for (int bits = 16; bits > 0; bits /= 2) value = fmaxf(value, __shfl_xor_sync(0xFFFFFFFFu, value, bits));
  return value;
}

#if ALGORITHM == 0
extern "C" __global__ void attention(Case c, const float* __restrict__ Q, const float* __restrict__ K,
                                     const float* __restrict__ V, float* __restrict__ result) {
  extern __shared__ float scores[];
  __shared__ float tops[THREADS / 32], sums[THREADS / 32];
  const int keys = static_cast<int>(c.KEYS), D = static_cast<int>(c.D), query = blockIdx.x;
  const float scale = score_scale(D);
  float top = kLowest, sum = 0;
  for (int k = threadIdx.x; k < keys; k += THREADS) {
    float score = 0;
#pragma unroll UNROLL
    for (int d = 0; d < D; ++d) score += Q[query * D + d] * K[k * D + d];
    scores[k] = score * scale;
    top = fmaxf(top, scores[k]);
  }
  top = warp_largest(top);
  if (threadIdx.x % 32 == 0) tops[threadIdx.x / 32] = top;
  __syncthreads();
  for (int w = 0; w < THREADS / 32; ++w) top = fmaxf(top, tops[w]);
  for (int k = threadIdx.x; k < keys; k += THREADS) {
    scores[k] = exponential(scores[k] - top);
    sum += scores[k];
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < THREADS / 32; ++w) sum += sums[w];
  for (int d = threadIdx.x; d < D; d += THREADS) {
    float value = 0;
#pragma unroll UNROLL
    for (int k = 0; k < keys; ++k) value += scores[k] * V[k * D + d];
    result[query * D + d] = value / sum;
  }
}
#else
constexpr int kThreads = 32 * QUERIES_PER_BLOCK;
constexpr int kMaxD = 128, kPerLane = kMaxD / 32;  // D up to 128

extern "C" __global__ void __launch_bounds__(kThreads)
    attention(Case c, const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
              float* __restrict__ result) {
  extern __shared__ float memory[];
  const int keys = static_cast<int>(c.KEYS), D = static_cast<int>(c.D), lane = threadIdx.x % 32;
  const int query = blockIdx.x * QUERIES_PER_BLOCK + threadIdx.x / 32;
  const bool real = query < c.QUERIES;
  float* tile_k = memory;                         // [TILE_K, D + 1]
  float* tile_v = tile_k + TILE_K * (D + 1);      // [TILE_K, D]
  float* own = tile_v + TILE_K * D + threadIdx.x / 32 * D;  // this warp's query [D]
  const float scale = score_scale(D);
  for (int d = lane; d < D; d += 32) own[d] = real ? Q[query * D + d] * scale : 0.0f;
  __syncwarp();
  float top = kLowest, sum = 0, values[kPerLane] = {};
  for (int k0 = 0; k0 < keys; k0 += TILE_K) {
    __syncthreads();
    for (int e = threadIdx.x; e < TILE_K * D; e += kThreads) {
      const int k = k0 + e / D, d = e % D;
      tile_k[e / D * (D + 1) + d] = k < keys ? K[k * D + d] : 0.0f;
      tile_v[e] = k < keys ? V[k * D + d] : 0.0f;
    }
    __syncthreads();
    for (int part = 0; part < TILE_K; part += 32) {
      const int k = part + lane;
      float score = 0;
#pragma unroll UNROLL
      for (int d = 0; d < D; ++d) score += own[d] * tile_k[k * (D + 1) + d];
      if (k0 + k >= keys) score = kLowest;
      const float new_top = fmaxf(top, warp_largest(score));
      const float shrink = exponential(top - new_top), weight = exponential(score - new_top);
      top = new_top;
      sum = sum * shrink + warp_sum(weight);
#pragma unroll
      for (int n = 0; n < kPerLane; ++n) values[n] *= shrink;
      for (int other = 0; other < 32; ++other) {
        const float w = __shfl_sync(0xFFFFFFFFu, weight, other);
#pragma unroll
        for (int n = 0; n < kPerLane; ++n) {
          const int d = lane + 32 * n;
          if (d < D) values[n] += w * tile_v[(part + other) * D + d];
        }
      }
    }
  }
  if (!real) return;
#pragma unroll
  for (int n = 0; n < kPerLane; ++n) {
    const int d = lane + 32 * n;
    if (d < D) result[query * D + d] = values[n] / sum;
  }
}
#endif
