// One row a block of THREADS, or a warp (GROUP 32) of one. ALGORITHM 0: mean, then squared differences, then result;
// 1: sum and sum of squares in one pass; 2: running mean and variance (Welford) that are merged. KEPT values of a row
// stay in registers between the passes.
#pragma kernelcast launch layer_norm grid(ceil_div(ROWS, THREADS / GROUP)) block(THREADS)

constexpr int kWarps = GROUP / 32, kGroups = THREADS / GROUP;

__device__ __forceinline__ float total(float value, float* scratch) {
#pragma unroll
  for (int bits = 16; bits > 0; bits /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, bits);
  if (kWarps == 1) return value;
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0;
  for (int w = 0; w < kWarps; ++w) value += scratch[w];
  return value;
}

struct Moments {
  float count, mean, squares;
};
__device__ __forceinline__ Moments merged(const Moments& a, const Moments& b) {
  const float count = a.count + b.count;
  if (count == 0) return a;
  const float difference = b.mean - a.mean, share = b.count / count;
  return {count, a.mean + difference * share, a.squares + b.squares + difference * difference * a.count * share};
}
__device__ __forceinline__ Moments other_half(const Moments& m, int bits) {
  return {__shfl_xor_sync(0xFFFFFFFFu, m.count, bits), __shfl_xor_sync(0xFFFFFFFFu, m.mean, bits),
          __shfl_xor_sync(0xFFFFFFFFu, m.squares, bits)};
}

constexpr int kSlots = KEPT > 0 ? KEPT : 1;

// The thread's share of a row: kept values first, then those that are read again.
template <class Use>
__device__ __forceinline__ void for_all(const float (&kept)[kSlots], const float* in, int n, int rank, Use use) {
#pragma unroll
  for (int k = 0; k < KEPT; ++k)
    if (rank + k * GROUP < n) use(rank + k * GROUP, kept[k]);
  for (int j = rank + KEPT * GROUP; j < n; j += GROUP) use(j, in[j]);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    layer_norm(Case c, const float* __restrict__ values, const float* __restrict__ gain, const float* __restrict__ bias,
               float* __restrict__ result) {
  __shared__ float scratch[3 * 32];
  const int n = static_cast<int>(c.COLUMNS), rank = threadIdx.x % GROUP;
  const long long row = static_cast<long long>(blockIdx.x) * kGroups + threadIdx.x / GROUP;
  if (row >= c.ROWS) return;
  const float* in = values + row * n;
  float kept[kSlots] = {};
#pragma unroll
  for (int k = 0; k < KEPT; ++k) kept[k] = rank + k * GROUP < n ? in[rank + k * GROUP] : 0.0f;
  float mean = 0, variance = 0;
#if ALGORITHM == 0
  for_all(kept, in, n, rank, [&](int, float x) { mean += x; });
  mean = total(mean, scratch) / n;
  for_all(kept, in, n, rank, [&](int, float x) { variance += (x - mean) * (x - mean); });
  variance = total(variance, scratch) / n;
#elif ALGORITHM == 1
  for_all(kept, in, n, rank, [&](int, float x) {
    mean += x;
    variance += x * x;
  });
  mean = total(mean, scratch) / n;
  variance = total(variance, scratch) / n - mean * mean;
#else
  Moments m = {0, 0, 0};
  for_all(kept, in, n, rank, [&](int, float x) {
    m.count += 1;
    const float difference = x - m.mean;
    m.mean += difference / m.count;
    m.squares += difference * (x - m.mean);
  });
#pragma unroll
  for (int bits = 16; bits > 0; bits /= 2) m = merged(m, other_half(m, bits));
  if (kWarps > 1) {
    if (threadIdx.x % 32 == 0) {
      scratch[3 * (threadIdx.x / 32)] = m.count;
      scratch[3 * (threadIdx.x / 32) + 1] = m.mean;
      scratch[3 * (threadIdx.x / 32) + 2] = m.squares;
    }
    __syncthreads();
    m = {0, 0, 0};
    for (int w = 0; w < kWarps; ++w) m = merged(m, {scratch[3 * w], scratch[3 * w + 1], scratch[3 * w + 2]});
  }
  mean = m.mean;
  variance = m.squares / n;
#endif
  const float scale = rsqrtf(variance + 1e-5f);
  for_all(kept, in, n, rank, [&](int j, float x) { result[row * n + j] = (x - mean) * scale * gain[j] + bias[j]; });
}
