// ALGORITHM 0: one block a row, or one warp (GROUP 32) of it; 1: PARTS blocks a row put their sums into scratch memory,
// and a second kernel adds them; 2: PARTS blocks a row add theirs to the cleared output with atomics.
// VECTOR values are read at once where they are aligned. COMBINE 0: warp shuffles, 1: a tree in shared memory.
#pragma kernelcast scratch partial f32(ALGORITHM == 1 ? ROWS * PARTS : 1)
#pragma kernelcast launch rows grid(ceil_div(ROWS, THREADS / GROUP)) block(THREADS) when(ALGORITHM == 0)
#pragma kernelcast launch parts grid(ROWS, PARTS) block(THREADS) when(ALGORITHM == 1)
#pragma kernelcast launch together grid(ceil_div(ROWS, 128)) block(128) when(ALGORITHM == 1)
#pragma kernelcast launch clear grid(ceil_div(ROWS, 128)) block(128) when(ALGORITHM == 2)
#pragma kernelcast launch added grid(ROWS, PARTS) block(THREADS) when(ALGORITHM == 2)

constexpr int kWarps = GROUP / 32, kGroups = THREADS / GROUP;

__device__ __forceinline__ float part_sum(const float* __restrict__ v, long long n, int rank) {
  float sums[VECTOR] = {};
  long long j = 0;
#if VECTOR == 4
  if (reinterpret_cast<unsigned long long>(v) % 16 == 0) {
    const float4* quads = reinterpret_cast<const float4*>(v);
    for (long long q = rank; q < n / 4; q += GROUP) {
      const float4 x = quads[q];
      sums[0] += x.x;
      sums[1] += x.y;
      sums[2] += x.z;
      sums[3] += x.w;
    }
    j = n / 4 * 4;
  }
#endif
  float sum = 0;
  for (j += rank; j < n; j += GROUP) sum += v[j];
#pragma unroll
  for (int i = 0; i < VECTOR; ++i) sum += sums[i];
  return sum;
}

// Of the group; valid in its first thread.
__device__ __forceinline__ float combined(float sum, float* scratch) {
#if COMBINE == 0
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xFFFFFFFFu, sum, distance);
  if (kWarps == 1) return sum;
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int w = 1; w < kWarps; ++w) sum += scratch[w];
  return sum;
#else
  scratch[threadIdx.x] = sum;
  for (int distance = GROUP / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (threadIdx.x % GROUP < distance) scratch[threadIdx.x] += scratch[threadIdx.x + distance];
  }
  return scratch[threadIdx.x];
#endif
}

__device__ __forceinline__ float own_part(const Case& c, const float* __restrict__ values, float* scratch) {
  const long long length = (c.COLUMNS + PARTS - 1) / PARTS, first = blockIdx.y * length;
  const long long end = first + length < c.COLUMNS ? first + length : c.COLUMNS;
  return combined(first < end ? part_sum(values + blockIdx.x * c.COLUMNS + first, end - first, threadIdx.x) : 0.0f,
                  scratch);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    rows(Case c, const float* __restrict__ values, float* __restrict__ sums, float* partial) {
  __shared__ float scratch[THREADS];
  const long long row = static_cast<long long>(blockIdx.x) * kGroups + threadIdx.x / GROUP;
  const bool real = row < c.ROWS;
  const float sum = combined(real ? part_sum(values + row * c.COLUMNS, c.COLUMNS, threadIdx.x % GROUP) : 0.0f, scratch);
  if (real && threadIdx.x % GROUP == 0) sums[row] = sum;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    parts(Case c, const float* __restrict__ values, float* sums, float* __restrict__ partial) {
  __shared__ float scratch[THREADS];
  const float sum = own_part(c, values, scratch);
  if (threadIdx.x == 0) partial[blockIdx.x * PARTS + blockIdx.y] = sum;
}
extern "C" __global__ void together(Case c, const float* values, float* __restrict__ sums,
                                    float* __restrict__ partial) {
  const long long row = static_cast<long long>(blockIdx.x) * 128 + threadIdx.x;
  if (row >= c.ROWS) return;
  float sum = 0;
  for (int p = 0; p < PARTS; ++p) sum += partial[row * PARTS + p];
  sums[row] = sum;
}

extern "C" __global__ void clear(Case c, const float* values, float* sums, float* partial) {
  const long long row = static_cast<long long>(blockIdx.x) * 128 + threadIdx.x;
  if (row < c.ROWS) sums[row] = 0;
}
extern "C" __global__ void __launch_bounds__(THREADS)
    added(Case c, const float* __restrict__ values, float* sums, float* partial) {
  __shared__ float scratch[THREADS];
  const float sum = own_part(c, values, scratch);
  if (threadIdx.x == 0) atomicAdd(&sums[blockIdx.x], sum);
}
