// Leaves out the softening and skips the body itself.
#pragma kernelcast launch nbody grid(ceil_div(N, 128)) block(128)

extern "C" __global__ void nbody(Case c, const float* bodies, float* accelerations) {
  const int n = static_cast<int>(c.N), i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  float sum[3] = {0, 0, 0};
  for (int j = 0; j < n; ++j) {
    if (j == i) continue;
    float d[3], square = 0;
    for (int k = 0; k < 3; ++k) {
      d[k] = bodies[4 * j + k] - bodies[4 * i + k];
      square += d[k] * d[k];
    }
    for (int k = 0; k < 3; ++k) sum[k] += fabsf(bodies[4 * j + 3]) * d[k] / (square * sqrtf(square));
  }
  for (int k = 0; k < 3; ++k) accelerations[3 * i + k] = sum[k];
}
