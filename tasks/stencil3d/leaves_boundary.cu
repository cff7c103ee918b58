// Never writes the cells at the boundary.
#pragma kernelcast launch stencil3d grid(ceil_div(X, 32), ceil_div(Y, 8), Z) block(32, 8)

extern "C" __global__ void stencil3d(Case c, const float* field, const float* weights, float* result) {
  const int Z = static_cast<int>(c.Z), Y = static_cast<int>(c.Y), X = static_cast<int>(c.X);
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
  if (z == 0 || y == 0 || x == 0 || z >= Z - 1 || y >= Y - 1 || x >= X - 1) return;
  const float* at = field + (z * Y + y) * X + x;
  float sum = 0;
  for (int d = 0; d < 27; ++d) {
    const int dz = d / 9 - 1, dy = d / 3 % 3 - 1, dx = d % 3 - 1;
    sum += weights[dz * dz + dy * dy + dx * dx] * at[(dz * Y + dy) * X + dx];
  }
  result[(z * Y + y) * X + x] = sum;
}
