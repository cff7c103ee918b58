// One row a group of GROUP threads (a block, or one of several warps of a block). ALGORITHM 0: maximum, sum, result in
// three passes over global memory; 1: the row is kept in registers; 2: maximum and sum in one pass that rescales.
// EXP 0: expf, 1: __expf, 2: exp2f of a product. DIVIDE 0: by the reciprocal, 1: each by itself.
#pragma kernelcast launch softmax grid(ceil_div(ROWS, THREADS / GROUP)) block(THREADS)

constexpr int kWarps = GROUP / 32, kGroups = THREADS / GROUP;
#define kLowest __uint_as_float(0xFF800000u)  // minus infinity

__device__ __forceinline__ float exponential(float x) {
#if EXP == 0
  return expf(x);
#elif EXP == 1
  return __expf(x);
#else
  return exp2f(x * 1.44269504f);
#endif
}

template <class Combine>
__device__ __forceinline__ float combine_all(float value, float* scratch, Combine combine) {
#pragma unroll
  for (int bits = 16; bits > 0; bits /= 2) value = combine(value, __shfl_xor_sync(0xFFFFFFFFu, value, bits));
  if (kWarps == 1) return value;
  const int warp = threadIdx.x / 32;
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[warp] = value;
  __syncthreads();
  value = scratch[0];
  for (int w = 1; w < kWarps; ++w) value = combine(value, scratch[w]);
  return value;
}

__device__ __forceinline__ float largest(float value, float* scratch) {
  return combine_all(value, scratch, [](float a, float b) { return fmaxf(a, b); });
}
__device__ __forceinline__ float total(float value, float* scratch) {
  return combine_all(value, scratch, [](float a, float b) { return a + b; });
}

__device__ __forceinline__ float divided(float x, float sum, float reciprocal) {
#if DIVIDE == 0
  return x * reciprocal;
#else
  return x / sum;
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS)
    softmax(Case c, const float* __restrict__ logits, float* __restrict__ result) {
  __shared__ float scratch[32];
  const int columns = static_cast<int>(c.COLUMNS), rank = threadIdx.x % GROUP;
  const long long row = static_cast<long long>(blockIdx.x) * kGroups + threadIdx.x / GROUP;
  if (row >= c.ROWS) return;  // whole warps: a group of several warps is the whole block
  const float* in = logits + row * columns;
  float* out = result + row * columns;
  float top = kLowest, sum = 0;
#if ALGORITHM == 0
  for (int j = rank; j < columns; j += GROUP) top = fmaxf(top, in[j]);
  top = largest(top, scratch);
  for (int j = rank; j < columns; j += GROUP) sum += exponential(in[j] - top);
  sum = total(sum, scratch);
  const float reciprocal = 1.0f / sum;
  for (int j = rank; j < columns; j += GROUP) out[j] = divided(exponential(in[j] - top), sum, reciprocal);
#elif ALGORITHM == 1
  float kept[KEPT];
#pragma unroll
  for (int n = 0; n < KEPT; ++n) {
    const int j = rank + n * GROUP;
    kept[n] = j < columns ? in[j] : kLowest;
    top = fmaxf(top, kept[n]);
  }
  for (int j = rank + KEPT * GROUP; j < columns; j += GROUP) top = fmaxf(top, in[j]);
  top = largest(top, scratch);
#pragma unroll
  for (int n = 0; n < KEPT; ++n) {
    kept[n] = exponential(kept[n] - top);
    sum += kept[n];
  }
  for (int j = rank + KEPT * GROUP; j < columns; j += GROUP) sum += exponential(in[j] - top);
  sum = total(sum, scratch);
  const float reciprocal = 1.0f / sum;
#pragma unroll
  for (int n = 0; n < KEPT; ++n) {
    const int j = rank + n * GROUP;
    if (j < columns) out[j] = divided(kept[n], sum, reciprocal);
  }
  for (int j = rank + KEPT * GROUP; j < columns; j += GROUP)
    out[j] = divided(exponential(in[j] - top), sum, reciprocal);
#else
  for (int j = rank; j < columns; j += GROUP) {
    const float value = in[j];
    if (value > top) {
      sum *= exponential(top - value);
      top = value;
    }
    sum += exponential(value - top);
  }
  const float all = largest(top, scratch);
  sum = total(top == kLowest ? 0.0f : sum * exponential(top - all), scratch);
  const float reciprocal = 1.0f / sum;
  for (int j = rank; j < columns; j += GROUP) out[j] = divided(exponential(in[j] - all), sum, reciprocal);
#endif
}
