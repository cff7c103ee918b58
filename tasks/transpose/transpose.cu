// Transposition on the device. ALGORITHM 0: one element a thread, reads along rows; 1: the same, writes along rows;
// 2: tiles of TILE x TILE through shared memory, ROWS_PER_BLOCK rows of threads, PADDING words against bank conflicts.
#pragma kernelcast launch run grid(ceil_div(COLUMNS, TILE), ceil_div(ROWS, TILE)) block(TILE, ROWS_PER_BLOCK) shared(ALGORITHM == 2 ? 4 * TILE * (TILE + PADDING) : 0)

__device__ void copy_tile(const Case& c, const float* matrix, float* result) {
  for (int step = 0; step < TILE; step += ROWS_PER_BLOCK) {
#if ALGORITHM == 0
    const long long x = static_cast<long long>(blockIdx.x) * TILE + threadIdx.x;
    const long long y = static_cast<long long>(blockIdx.y) * TILE + threadIdx.y;
    if (x < c.COLUMNS && y + step < c.ROWS) result[x * c.ROWS + y + step] = matrix[(y + step) * c.COLUMNS + x];
#else
    const long long column = static_cast<long long>(blockIdx.x) * TILE + threadIdx.y + step;
    const long long row = static_cast<long long>(blockIdx.y) * TILE + threadIdx.x;
    if (column < c.COLUMNS && row < c.ROWS) result[column * c.ROWS + row] = matrix[row * c.COLUMNS + column];
#endif
  }
}

__device__ void turn_tile(const Case& c, const float* matrix, float* result) {
  extern __shared__ float tile[];
  const int pitch = TILE + PADDING;
  const long long x = static_cast<long long>(blockIdx.x) * TILE + threadIdx.x;
  const long long y = static_cast<long long>(blockIdx.y) * TILE + threadIdx.y;
  for (int step = 0; step < TILE; step += ROWS_PER_BLOCK) {
    if (x < c.COLUMNS && y + step < c.ROWS) {
      tile[(threadIdx.y + step) * pitch + threadIdx.x] = matrix[(y + step) * c.COLUMNS + x];
    }
  }
  __syncthreads();
  const long long row = static_cast<long long>(blockIdx.y) * TILE + threadIdx.x;
  const long long column = static_cast<long long>(blockIdx.x) * TILE + threadIdx.y;
  for (int step = 0; step < TILE; step += ROWS_PER_BLOCK) {
    if (row < c.ROWS && column + step < c.COLUMNS) {
      result[(column + step) * c.ROWS + row] = tile[threadIdx.x * pitch + threadIdx.y + step];
    }
  }
}

__global__ void __launch_bounds__(TILE* ROWS_PER_BLOCK)
    run(Case c, const float* __restrict__ matrix, float* __restrict__ result) {
#if ALGORITHM == 2
  turn_tile(c, matrix, result);
#else
  copy_tile(c, matrix, result);
#endif
}
