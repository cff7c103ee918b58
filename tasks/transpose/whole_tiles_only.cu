// Wrong: rows and columns beyond the last whole tile are left out.
#pragma kernelcast launch run grid(floor(COLUMNS / 32), floor(ROWS / 32)) block(32, 8)

__global__ void run(Case c, const float* matrix, float* result) {
  __shared__ float tile[32][33];
  const long long column = blockIdx.x * 32LL + threadIdx.x;
  const long long row = blockIdx.y * 32LL + threadIdx.y;
  for (int step = 0; step < 32; step += 8) tile[threadIdx.y + step][threadIdx.x] = matrix[(row + step) * c.COLUMNS + column];
  __syncthreads();
  const long long turned_column = blockIdx.y * 32LL + threadIdx.x;
  const long long turned_row = blockIdx.x * 32LL + threadIdx.y;
  for (int step = 0; step < 32; step += 8) {
    result[(turned_row + step) * c.ROWS + turned_column] = tile[threadIdx.x][threadIdx.y + step];
  }
}
