// ALGORITHM 0: one element of C a thread, ORDER 0 with neighbours in a row of C, 1 in a column.
// ALGORITHM 1: a block computes BLOCK_M x BLOCK_N of C from slices of BLOCK_K in shared memory, each thread
// THREAD_M x THREAD_N of them in registers. STAGES 2: the next slice is fetched while one is used.
#pragma kernelcast launch matmul grid(ceil_div(N, BLOCK_N), ceil_div(M, BLOCK_M)) block(BLOCK_N, BLOCK_M) when(ALGORITHM == 0 && ORDER == 0)
#pragma kernelcast launch matmul grid(ceil_div(M, BLOCK_M), ceil_div(N, BLOCK_N)) block(BLOCK_M, BLOCK_N) when(ALGORITHM == 0 && ORDER == 1)
#pragma kernelcast launch matmul grid(ceil_div(N, BLOCK_N), ceil_div(M, BLOCK_M)) block(BLOCK_M / THREAD_M * BLOCK_N / THREAD_N) when(ALGORITHM == 1)

#if ALGORITHM == 0
extern "C" __global__ void matmul(Case c, const float* __restrict__ A, const float* __restrict__ B,
                                  float* __restrict__ C) {
  const int M = static_cast<int>(c.M), N = static_cast<int>(c.N), K = static_cast<int>(c.K);
#if ORDER == 0
  const int j = blockIdx.x * BLOCK_N + threadIdx.x, i = blockIdx.y * BLOCK_M + threadIdx.y;
#else
  const int i = blockIdx.x * BLOCK_M + threadIdx.x, j = blockIdx.y * BLOCK_N + threadIdx.y;
#endif
  if (i >= M || j >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * N + j];
  C[i * N + j] = sum;
}
#else

constexpr int kColumns = BLOCK_N / THREAD_N, kThreads = kColumns * (BLOCK_M / THREAD_M);
constexpr int kAPerThread = (BLOCK_M * BLOCK_K + kThreads - 1) / kThreads;
constexpr int kBPerThread = (BLOCK_K * BLOCK_N + kThreads - 1) / kThreads;

struct Slice {  // what one thread carries from global to shared memory
  float a[kAPerThread], b[kBPerThread];
};

__device__ __forceinline__ void fetch(Slice& s, const float* A, const float* B, int M, int N, int K, int i0, int j0,
                                      int k0) {
#pragma unroll
  for (int n = 0; n < kAPerThread; ++n) {
    const int e = threadIdx.x + n * kThreads, i = i0 + e / BLOCK_K, k = k0 + e % BLOCK_K;
    s.a[n] = e < BLOCK_M * BLOCK_K && i < M && k < K ? A[i * K + k] : 0.0f;
  }
#pragma unroll
  for (int n = 0; n < kBPerThread; ++n) {
    const int e = threadIdx.x + n * kThreads, k = k0 + e / BLOCK_N, j = j0 + e % BLOCK_N;
    s.b[n] = e < BLOCK_K * BLOCK_N && k < K && j < N ? B[k * N + j] : 0.0f;
  }
}

__device__ __forceinline__ void put(const Slice& s, float (*a)[BLOCK_M + 1], float (*b)[BLOCK_N]) {
#pragma unroll
  for (int n = 0; n < kAPerThread; ++n) {
    const int e = threadIdx.x + n * kThreads;
    if (e < BLOCK_M * BLOCK_K) a[e % BLOCK_K][e / BLOCK_K] = s.a[n];
  }
#pragma unroll
  for (int n = 0; n < kBPerThread; ++n) {
    const int e = threadIdx.x + n * kThreads;
    if (e < BLOCK_K * BLOCK_N) b[e / BLOCK_N][e % BLOCK_N] = s.b[n];
  }
}

__device__ __forceinline__ void multiply(float (&sums)[THREAD_M][THREAD_N], float (*a)[BLOCK_M + 1],
                                         float (*b)[BLOCK_N]) {
  const int row = threadIdx.x / kColumns, column = threadIdx.x % kColumns;
#pragma unroll
  for (int k = 0; k < BLOCK_K; ++k) {
    float x[THREAD_M], y[THREAD_N];
#pragma unroll
    for (int i = 0; i < THREAD_M; ++i) x[i] = a[k][row * THREAD_M + i];
#pragma unroll
    for (int j = 0; j < THREAD_N; ++j) y[j] = b[k][column + j * kColumns];
#pragma unroll
    for (int i = 0; i < THREAD_M; ++i)
#pragma unroll
      for (int j = 0; j < THREAD_N; ++j) sums[i][j] += x[i] * y[j];
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    matmul(Case c, const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C) {
  __shared__ float a[STAGES][BLOCK_K][BLOCK_M + 1];
  __shared__ float b[STAGES][BLOCK_K][BLOCK_N];
  const int M = static_cast<int>(c.M), N = static_cast<int>(c.N), K = static_cast<int>(c.K);
  const int i0 = blockIdx.y * BLOCK_M, j0 = blockIdx.x * BLOCK_N;
  float sums[THREAD_M][THREAD_N] = {};
  Slice slice;
  fetch(slice, A, B, M, N, K, i0, j0, 0);
  for (int k0 = 0, stage = 0; k0 < K; k0 += BLOCK_K, stage = (stage + 1) % STAGES) {
    put(slice, a[stage], b[stage]);
    __syncthreads();
    if (k0 + BLOCK_K < K) fetch(slice, A, B, M, N, K, i0, j0, k0 + BLOCK_K);
    multiply(sums, a[stage], b[stage]);
#if STAGES == 1
    __syncthreads();
#endif
  }
  const int row = threadIdx.x / kColumns, column = threadIdx.x % kColumns;
#pragma unroll
  for (int i = 0; i < THREAD_M; ++i)
#pragma unroll
    for (int j = 0; j < THREAD_N; ++j) {
      const int m = i0 + row * THREAD_M + i, n = j0 + column + j * kColumns;
      if (m < M && n < N) C[m * N + n] = sums[i][j];
    }
}
#endif
