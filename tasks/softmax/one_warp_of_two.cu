// Two warps a row, but only the first one's sum is used.
#pragma kernelcast launch softmax grid(ROWS) block(64)

extern "C" __global__ void softmax(Case c, const float* logits, float* result) {
  __shared__ float first;
  const int columns = static_cast<int>(c.COLUMNS);
  const float* in = logits + static_cast<long long>(blockIdx.x) * columns;
  float sum = 0;
  for (int j = threadIdx.x; j < columns; j += 64) sum += expf(in[j]);
  for (int bits = 16; bits > 0; bits /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, bits);
  if (threadIdx.x == 0) first = sum;
  __syncthreads();
  for (int j = threadIdx.x; j < columns; j += 64)
    result[static_cast<long long>(blockIdx.x) * columns + j] = expf(in[j]) / first;
}
