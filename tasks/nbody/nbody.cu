// One body a thread, THREADS a block. ALGORITHM 0: every body is read from global memory; 1: TILES of THREADS bodies in
// shared memory. ROOT 0: division by the root, 1: reciprocal root cubed. SPLIT threads share a body's sum.
#pragma kernelcast launch nbody grid(ceil_div(N * SPLIT, THREADS)) block(THREADS)

struct Sum {
  float x, y, z;
};

__device__ __forceinline__ void add(Sum& sum, const float4& own, const float4& other) {
  const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
  const float square = 0.01f + dx * dx + dy * dy + dz * dz;
#if ROOT == 0
  const float factor = fabsf(other.w) / (square * sqrtf(square));
#else
  const float inverse = rsqrtf(square);
  const float factor = fabsf(other.w) * inverse * inverse * inverse;
#endif
  sum.x += factor * dx;
  sum.y += factor * dy;
  sum.z += factor * dz;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    nbody(Case c, const float* __restrict__ bodies, float* __restrict__ accelerations) {
  const int n = static_cast<int>(c.N);
  const float4* all = reinterpret_cast<const float4*>(bodies);
  const int part = threadIdx.x % SPLIT, i = (blockIdx.x * THREADS + threadIdx.x) / SPLIT;
  const float4 own = i < n ? all[i] : make_float4(0, 0, 0, 0);
  Sum sum = {0, 0, 0};
#if ALGORITHM == 0
#pragma unroll UNROLL
  for (int j = part; j < n; j += SPLIT) add(sum, own, all[j]);
#else
  __shared__ float4 tile[THREADS];
  for (int j0 = 0; j0 < n; j0 += THREADS) {
    __syncthreads();
    const int j = j0 + threadIdx.x;
    tile[threadIdx.x] = j < n ? all[j] : make_float4(0, 0, 0, 0);  // no mass, no pull
    __syncthreads();
#pragma unroll UNROLL
    for (int k = part; k < THREADS; k += SPLIT) add(sum, own, tile[k]);
  }
#endif
#pragma unroll
  for (int bits = SPLIT / 2; bits > 0; bits /= 2) {
    sum.x += __shfl_xor_sync(0xFFFFFFFFu, sum.x, bits);
    sum.y += __shfl_xor_sync(0xFFFFFFFFu, sum.y, bits);
    sum.z += __shfl_xor_sync(0xFFFFFFFFu, sum.z, bits);
  }
  if (i >= n || part != 0) return;
  accelerations[3 * i] = sum.x;
  accelerations[3 * i + 1] = sum.y;
  accelerations[3 * i + 2] = sum.z;
}
