// Leaves out what does not fill a whole warp's worth of the row.
#pragma kernelcast launch reduction grid(ROWS) block(32)

extern "C" __global__ void reduction(Case c, const float* values, float* sums) {
  const long long row = blockIdx.x;
  float sum = 0;
  for (long long j = threadIdx.x; j < (c.COLUMNS - 1) / 32 * 32; j += 32) sum += values[row * c.COLUMNS + j];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xFFFFFFFFu, sum, distance);
  if (threadIdx.x == 0) sums[row] = sum;
}
