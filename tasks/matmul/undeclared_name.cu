#pragma kernelcast launch matmul grid(1) block(32)

extern "C" __global__ void matmul(Case c, const float* A, const float* B, float* C) {
  C[blockIdx.x * 32 + threadIdx.x] = A[row] * B[0];
}
