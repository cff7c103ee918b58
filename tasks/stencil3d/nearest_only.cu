// Leaves out the neighbours across edges and corners.
#pragma kernelcast launch stencil3d grid(ceil_div(X, 32), ceil_div(Y, 8), Z) block(32, 8)

extern "C" __global__ void stencil3d(Case c, const float* field, const float* weights, float* result) {
  const int Z = static_cast<int>(c.Z), Y = static_cast<int>(c.Y), X = static_cast<int>(c.X);
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
  if (y >= Y || x >= X) return;
  const int cell = (z * Y + y) * X + x;
  const float* at = field + cell;
  float value = *at;
  if (z > 0 && y > 0 && x > 0 && z < Z - 1 && y < Y - 1 && x < X - 1)
    value = weights[0] * at[0] + weights[1] * (at[-1] + at[1] + at[-X] + at[X] + at[-Y * X] + at[Y * X]);
  result[cell] = value;
}
