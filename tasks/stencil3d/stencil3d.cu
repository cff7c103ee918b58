// ALGORITHM 0: one cell a thread, BLOCK_X x BLOCK_Y x BLOCK_Z a block. ALGORITHM 1: a block walks along z with three
// planes, halo included, in shared memory. ALGORITHM 2: a thread walks DEPTH cells along z and keeps the sums by
// distance of the three planes around it in registers.
#pragma kernelcast launch stencil3d grid(ceil_div(X, BLOCK_X), ceil_div(Y, BLOCK_Y), ceil_div(Z, BLOCK_Z)) block(BLOCK_X, BLOCK_Y, BLOCK_Z) when(ALGORITHM == 0)
#pragma kernelcast launch stencil3d grid(ceil_div(X, BLOCK_X), ceil_div(Y, BLOCK_Y), ceil_div(Z, DEPTH)) block(BLOCK_X, BLOCK_Y) when(ALGORITHM > 0)

__device__ __forceinline__ bool inside(int z, int y, int x, int Z, int Y, int X) {
  return z > 0 && y > 0 && x > 0 && z < Z - 1 && y < Y - 1 && x < X - 1;
}

// Of one plane around a cell: the cell, its four neighbours, its four corners.
struct PlaneSums {
  float centre, edges, corners;
};
__device__ __forceinline__ PlaneSums plane_sums(const float* at, int row) {
  return {at[0], at[-1] + at[1] + at[-row] + at[row], at[-row - 1] + at[-row + 1] + at[row - 1] + at[row + 1]};
}
__device__ __forceinline__ float weighted(const PlaneSums& below, const PlaneSums& here, const PlaneSums& above,
                                          const float* w) {
  return w[0] * here.centre + w[1] * (here.edges + below.centre + above.centre) +
         w[2] * (here.corners + below.edges + above.edges) + w[3] * (below.corners + above.corners);
}

#if ALGORITHM == 0
extern "C" __global__ void stencil3d(Case c, const float* __restrict__ field, const float* __restrict__ weights,
                                     float* __restrict__ result) {
  const int Z = static_cast<int>(c.Z), Y = static_cast<int>(c.Y), X = static_cast<int>(c.X);
  const int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
  const int z = blockIdx.z * BLOCK_Z + threadIdx.z;
  if (z >= Z || y >= Y || x >= X) return;
  const int cell = (z * Y + y) * X + x;
  const float* at = field + cell;
  if (!inside(z, y, x, Z, Y, X)) {
    result[cell] = *at;
    return;
  }
#if GROUPED
  result[cell] = weighted(plane_sums(at - Y * X, X), plane_sums(at, X), plane_sums(at + Y * X, X), weights);
#else
  float sum = 0;
#pragma unroll
  for (int d = 0; d < 27; ++d) {
    const int dz = d / 9 - 1, dy = d / 3 % 3 - 1, dx = d % 3 - 1;
    sum += weights[dz * dz + dy * dy + dx * dx] * at[(dz * Y + dy) * X + dx];
  }
  result[cell] = sum;
#endif
}
#elif ALGORITHM == 1
constexpr int kRow = BLOCK_X + 2, kPlane = kRow * (BLOCK_Y + 2);

__device__ __forceinline__ void load_plane(float* plane, const float* field, int z, int y0, int x0, int Z, int Y, int X) {
  for (int e = threadIdx.y * BLOCK_X + threadIdx.x; e < kPlane; e += BLOCK_X * BLOCK_Y) {
    const int y = y0 + e / kRow - 1, x = x0 + e % kRow - 1;
    plane[e] = z < Z && y >= 0 && y < Y && x >= 0 && x < X ? field[(z * Y + y) * X + x] : 0.0f;
  }
}

extern "C" __global__ void stencil3d(Case c, const float* __restrict__ field, const float* __restrict__ weights,
                                     float* __restrict__ result) {
  __shared__ float planes[3][kPlane];
  const int Z = static_cast<int>(c.Z), Y = static_cast<int>(c.Y), X = static_cast<int>(c.X);
  const int x0 = blockIdx.x * BLOCK_X, y0 = blockIdx.y * BLOCK_Y, z0 = blockIdx.z * DEPTH;
  const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  const int own = (threadIdx.y + 1) * kRow + threadIdx.x + 1;
  load_plane(planes[(z0 + 2) % 3], field, z0 > 0 ? z0 - 1 : 0, y0, x0, Z, Y, X);
  load_plane(planes[z0 % 3], field, z0, y0, x0, Z, Y, X);
  for (int z = z0; z < z0 + DEPTH && z < Z; ++z) {
    load_plane(planes[(z + 1) % 3], field, z + 1, y0, x0, Z, Y, X);
    __syncthreads();
    if (y < Y && x < X) {
      const float* here = planes[z % 3] + own;
      result[(z * Y + y) * X + x] =
          inside(z, y, x, Z, Y, X)
              ? weighted(plane_sums(planes[(z + 2) % 3] + own, kRow), plane_sums(here, kRow),
                         plane_sums(planes[(z + 1) % 3] + own, kRow), weights)
              : *here;
    }
    __syncthreads();
  }
}
#else
extern "C" __global__ void stencil3d(Case c, const float* __restrict__ field, const float* __restrict__ weights,
                                     float* __restrict__ result) {
  const int Z = static_cast<int>(c.Z), Y = static_cast<int>(c.Y), X = static_cast<int>(c.X);
  const int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y, z0 = blockIdx.z * DEPTH;
  if (y >= Y || x >= X) return;
  const bool border = x == 0 || y == 0 || x == X - 1 || y == Y - 1;
  const float* column = field + y * X + x;
  const float w[4] = {weights[0], weights[1], weights[2], weights[3]};
  PlaneSums below = {0, 0, 0}, here = {0, 0, 0};
  if (!border) {
    if (z0 > 0) below = plane_sums(column + (z0 - 1) * Y * X, X);
    here = plane_sums(column + z0 * Y * X, X);
  }
#pragma unroll UNROLL
  for (int z = z0; z < z0 + DEPTH; ++z) {
    if (z >= Z) break;
    const bool edge = border || z == 0 || z == Z - 1;
    PlaneSums above = {0, 0, 0};
    if (!border && z + 1 < Z) above = plane_sums(column + (z + 1) * Y * X, X);
    result[(z * Y + y) * X + x] = edge ? column[z * Y * X] : weighted(below, here, above, w);
    below = here;
    here = above;
  }
}
#endif
