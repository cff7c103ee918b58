// PER_THREAD keys a thread. ALGORITHM 0: atomics on global
// memory; 1: COPIES private histograms a block in shared memory, added up at the end. BINNING 0: division, 1: a
// multiplication by the reciprocal that is mended.
#pragma kernelcast zero counts
#pragma kernelcast launch histogram grid(ceil_div(KEYS, THREADS * PER_THREAD)) block(THREADS) shared(ALGORITHM * 4 * COPIES * BINS)

__device__ __forceinline__ int bin_of(int key, int width, float reciprocal) {
#if BINNING == 0
  return key / width;
#else
  int bin = static_cast<int>(static_cast<float>(key) * reciprocal);
  if (bin * width > key) --bin;
  if ((bin + 1) * width <= key) ++bin;
  return bin;
#endif
}

extern "C" __global__ void histogram(Case c, const int* __restrict__ keys, int* counts) {
  const int bins = static_cast<int>(c.BINS), width = static_cast<int>(c.WIDTH);
  const float reciprocal = 1.0f / static_cast<float>(width);
  const long long first = static_cast<long long>(blockIdx.x) * THREADS * PER_THREAD + threadIdx.x;
#if ALGORITHM == 0
#pragma unroll
  for (int n = 0; n < PER_THREAD; ++n) {
    const long long k = first + static_cast<long long>(n) * THREADS;
    if (k < c.KEYS) atomicAdd(&counts[bin_of(keys[k], width, reciprocal)], 1);
  }
#else
  extern __shared__ int own[];
  for (int b = threadIdx.x; b < COPIES * bins; b += THREADS) own[b] = 0;
  __syncthreads();
  int* mine = own + threadIdx.x % COPIES * bins;
#pragma unroll
  for (int n = 0; n < PER_THREAD; ++n) {
    const long long k = first + static_cast<long long>(n) * THREADS;
    if (k < c.KEYS) atomicAdd(&mine[bin_of(keys[k], width, reciprocal)], 1);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += THREADS) {
    int sum = 0;
#pragma unroll
    for (int copy = 0; copy < COPIES; ++copy) sum += own[copy * bins + b];
    if (sum != 0) atomicAdd(&counts[b], sum);
  }
#endif
}
