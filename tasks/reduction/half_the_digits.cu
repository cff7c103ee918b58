// Keeps ten mantissa bits of each value.
#pragma kernelcast launch reduction grid(ROWS) block(32)

extern "C" __global__ void reduction(Case c, const float* values, float* sums) {
  const long long row = blockIdx.x;
  float sum = 0;
  for (long long j = threadIdx.x; j < c.COLUMNS; j += 32)
    sum += __uint_as_float(__float_as_uint(values[row * c.COLUMNS + j]) & 0xFFFFE000u);
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xFFFFFFFFu, sum, distance);
  if (threadIdx.x == 0) sums[row] = sum;
}
