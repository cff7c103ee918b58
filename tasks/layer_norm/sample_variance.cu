// Divides the squared differences by one less than their number.
#pragma kernelcast launch layer_norm grid(ROWS) block(32)

extern "C" __global__ void layer_norm(Case c, const float* values, const float* gain, const float* bias, float* result) {
  const int n = static_cast<int>(c.COLUMNS);
  const float* in = values + static_cast<long long>(blockIdx.x) * n;
  float mean = 0, variance = 0;
  for (int j = threadIdx.x; j < n; j += 32) mean += in[j];
  for (int bits = 16; bits > 0; bits /= 2) mean += __shfl_xor_sync(0xFFFFFFFFu, mean, bits);
  mean /= n;
  for (int j = threadIdx.x; j < n; j += 32) variance += (in[j] - mean) * (in[j] - mean);
  for (int bits = 16; bits > 0; bits /= 2) variance += __shfl_xor_sync(0xFFFFFFFFu, variance, bits);
  const float scale = rsqrtf(variance / (n - 1) + 1e-5f);
  for (int j = threadIdx.x; j < n; j += 32)
    result[static_cast<long long>(blockIdx.x) * n + j] = (in[j] - mean) * scale * gain[j] + bias[j];
}
