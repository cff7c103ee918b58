#pragma kernelcast launch run grid(ceil_div(ROWS * COLUMNS, 256)) block(256)

__global__ void run(Case c, const float* matrix, float* result) {
  const index = blockIdx.x * 256LL + threadIdx.x;
  if (index < c.ROWS * c.COLUMNS) result[index % c.COLUMNS * c.ROWS + index / c.COLUMNS] = matrix[index];
}
